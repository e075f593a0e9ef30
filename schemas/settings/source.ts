import { z } from 'zod'
import { strict } from '../strict.js'
import { secretReference } from './secret.js'
import { serverUrl } from './server-url.js'

/** The name of a source, which is part of job ids and of the ledger. */
export const sourceName = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$/, 'use up to 63 letters, digits, - and _')

const folderName = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._/-]{0,200}$/, 'use letters, digits, . _ - and /')
  .refine((name) => !name.split('/').includes('..'), 'leave .. out of it')

/** What every source has; those that are not on this machine are asked less often. */
const shared = (usual: { readonly pollSeconds: number; readonly receipts: boolean }) => ({
  name: sourceName,
  pollSeconds: z.int().min(1).max(86_400).default(usual.pollSeconds),
  settlePolls: z.int().min(1).max(100).default(2),
  /**
   * What becomes of a file that has ended. take: it is taken away, `archive/` has it; rename: it goes
   * to `endedFolder` there, on S3 up to 5 GiB; mark: `<name>.ended` with its outcome beside it;
   * leave: nothing.
   */
  ended: z.enum(['take', 'rename', 'mark', 'leave']).default('take'),
  endedFolder: folderName.default('ended'),
  /** Whether receipt and rejects are also written beside the file. */
  receipts: z.boolean().default(usual.receipts),
})

const folder = strict({
  kind: z.literal('folder'),
  path: z.string().min(1, 'name a folder'),
  ...shared({ pollSeconds: 5, receipts: false }),
})

const away = { pollSeconds: 60, receipts: true } as const
const host = z.string().regex(/^[A-Za-z0-9.:_-]{1,253}$/, 'use a host name or an address')
const port = (usual: number) => z.int().min(1).max(65_535).default(usual)
const user = z.string().min(1, 'name a user').max(200)
const timeoutMs = z.int().min(100).max(600_000).default(20_000)
const remotePath = z
  .string()
  .min(1, 'name a folder')
  .regex(/^\P{Cc}*$/u, 'leave control characters out of it')

const fingerprint = z
  .string()
  .regex(
    /^SHA256:[A-Za-z0-9+/]{43}$/,
    'use SHA256:..., which `ssh-keyscan HOST | ssh-keygen -lf -` shows; ask the operator for it',
  )

const sftp = z
  .strictObject({
    kind: z.literal('sftp'),
    host,
    port: port(22),
    user,
    /** A private key in OpenSSH's or PEM form; or a password. */
    key: secretReference.optional(),
    passphrase: secretReference.optional(),
    password: secretReference.optional(),
    /** Fingerprints of the keys that the server may show; any other ends the connection. */
    hostKeys: z.array(fingerprint).min(1, 'pin at least one fingerprint').readonly(),
    path: remotePath,
    timeoutMs,
    ...shared(away),
  })
  .refine(({ key, password }) => key !== undefined || password !== undefined, {
    path: ['key'],
    error: 'missing: write key or password',
  })
  .readonly()

const ftp = strict({
  kind: z.literal('ftp'),
  host,
  port: port(21),
  user,
  password: secretReference,
  /** explicit: AUTH TLS; implicit: TLS from the first byte; off: everything in the clear. */
  tls: z.enum(['explicit', 'implicit', 'off']).default('explicit'),
  /** Authorities that the server's certificate may come from; without it, those Node knows. */
  caFile: z.string().min(1).optional(),
  path: remotePath,
  timeoutMs,
  ...shared(away),
})

const bucket = z.string().regex(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/, 'use the name of a bucket')

const s3 = z
  .strictObject({
    kind: z.literal('s3'),
    bucket,
    /** Where in the bucket: the keys right below it are the files. */
    prefix: z
      .string()
      .regex(/^([^/\p{Cc}]+\/)*$/u, 'end it with /, and begin it with none')
      .max(500)
      .default(''),
    region: z
      .string()
      .regex(/^[a-z0-9-]{1,40}$/, 'use a region such as us-east-2')
      .default('us-east-1'),
    /** Of a server other than Amazon's. */
    endpoint: serverUrl.optional(),
    /** Whether the bucket is part of the path, not of the host name. */
    pathStyle: z.boolean().default(false),
    /** Without both, the role of the machine. */
    accessKeyId: secretReference.optional(),
    secretAccessKey: secretReference.optional(),
    /** The bucket of `endedFolder`, where that is another. */
    endedBucket: bucket.optional(),
    timeoutMs,
    ...shared(away),
  })
  .refine((value) => (value.accessKeyId === undefined) === (value.secretAccessKey === undefined), {
    path: ['secretAccessKey'],
    error: 'write accessKeyId and secretAccessKey, or neither',
  })
  .readonly()

/** Where files come from, by kind. */
export const sourceSettings = z.discriminatedUnion('kind', [folder, sftp, ftp, s3])

export type SourceSettings = z.output<typeof sourceSettings>
export type SourceKind = SourceSettings['kind']
export type SettingsOf<K extends SourceKind> = Extract<SourceSettings, { readonly kind: K }>
