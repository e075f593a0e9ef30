import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import {
  CopyObjectCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
  S3ServiceException,
} from '@aws-sdk/client-s3'
import { Fault, type FaultCode } from '../../schemas/fault.js'
import type { SecretReference } from '../../schemas/settings/secret.js'
import type { SettingsOf } from '../../schemas/settings/source.js'
import { isPlain, type RemoteFile, type RemoteFiles } from './remote-files.js'

type S3 = SettingsOf<'s3'>

/** The limit of one `CopyObject`, 5 GiB. */
const copyBytesMax = 5 * 1024 ** 3

/**
 * A bucket of Amazon S3 or of a compatible server. The keys directly below the prefix are the files;
 * requests about one state of an object carry its ETag.
 */
export function connectS3(
  settings: S3,
  secret: (reference: SecretReference) => string,
): () => Promise<RemoteFiles> {
  return async () => createRemoteFiles(settings, createClient(settings, secret))
}

function createClient(settings: S3, secret: (reference: SecretReference) => string): S3Client {
  const { region, endpoint, pathStyle, timeoutMs, accessKeyId, secretAccessKey } = settings
  return new S3Client({
    region,
    ...(endpoint && { endpoint }),
    forcePathStyle: pathStyle,
    ...(accessKeyId &&
      secretAccessKey && {
        credentials: {
          accessKeyId: secret(accessKeyId),
          secretAccessKey: secret(secretAccessKey),
        },
      }),
    maxAttempts: 2,
    // Other servers refuse bodies with a checksum behind them, or store it with the bytes.
    ...(endpoint && { requestChecksumCalculation: 'WHEN_REQUIRED' }),
    requestHandler: { connectionTimeout: timeoutMs, socketTimeout: timeoutMs },
  })
}

function createRemoteFiles(settings: S3, client: S3Client): RemoteFiles {
  const { bucket: Bucket, prefix } = settings
  const ask = <T>(key: string, run: () => Promise<T>) =>
    run().catch((error: unknown) => {
      throw toFault(settings, key, error)
    })
  const remove = (path: string) =>
    ask(path, async () => {
      await client.send(new DeleteObjectCommand({ Bucket, Key: path }))
    })
  const look = (path: string) =>
    ask(path, async () => {
      const found = await client
        .send(new HeadObjectCommand({ Bucket, Key: path }))
        .catch(unlessGone)
      return found && toFile(prefix, { ...found, Key: path, Size: found.ContentLength })
    })
  return {
    list: () => ask(prefix, () => listAll(client, { Bucket, Prefix: prefix })),
    look,
    open: async function* ({ path, tag }, offset) {
      const Range = offset === 0 ? undefined : `bytes=${offset}-`
      const asked = new GetObjectCommand({ Bucket, Key: path, Range, IfMatch: tag })
      const { Body } = await ask(path, () => client.send(asked))
      try {
        for await (const bytes of Body as Readable) yield bytes as Buffer
      } catch (error) {
        throw toFault(settings, path, error)
      }
    },
    write: (name, content) =>
      ask(name, async () => {
        const isText = Buffer.isBuffer(content)
        await client.send(
          new PutObjectCommand({
            Bucket,
            Key: `${prefix}${name}`,
            Body: isText ? content : createReadStream(content.path),
            ContentLength: isText ? content.length : (await stat(content.path)).size,
          }),
        )
      }),
    move: async (file, name) => {
      refuseLarge(file)
      const source = `${Bucket}/${file.path}`.split('/').map(encodeURIComponent).join('/')
      const copied = new CopyObjectCommand({
        Bucket: settings.endedBucket ?? Bucket,
        Key: `${prefix}${settings.endedFolder}/${name}`,
        CopySource: source,
        CopySourceIfMatch: file.tag,
      })
      await ask(file.path, () => client.send(copied))
      // A copy of gigabytes takes long enough for a sender to replace the object.
      if ((await look(file.path))?.tag === file.tag) await remove(file.path)
    },
    remove,
    isOpen: () => true,
    close: async () => client.destroy(),
  }
}

/** Of 1,000 keys each. */
const pagesMax = 10_000

async function listAll(
  client: S3Client,
  folder: { readonly Bucket: string; readonly Prefix: string },
): Promise<readonly RemoteFile[]> {
  const files: RemoteFile[] = []
  const tokens = new Set<string | undefined>()
  let ContinuationToken: string | undefined
  do {
    if (tokens.has(ContinuationToken)) throw new Error('the listing repeats a continuation token')
    if (tokens.add(ContinuationToken).size > pagesMax) {
      throw new Error(`the listing has more than ${pagesMax} pages; remove loaded files`)
    }
    const asked = new ListObjectsV2Command({ ...folder, Delimiter: '/', ContinuationToken })
    const page = await client.send(asked)
    if (page.IsTruncated === undefined) throw new Error('the response is not a listing')
    for (const object of page.Contents ?? []) {
      const file = toFile(folder.Prefix, object)
      const other = isPlain(file.name) ? undefined : 'unusable name'
      // A console makes a folder by an object of its name.
      if (file.name !== '') files.push({ ...file, other })
    }
    for (const { Prefix: Key = '' } of page.CommonPrefixes ?? []) {
      files.push({ ...toFile(folder.Prefix, { Key: Key.slice(0, -1) }), other: 'folder' })
    }
    ContinuationToken = page.IsTruncated ? page.NextContinuationToken : undefined
    if (page.IsTruncated && ContinuationToken === undefined) {
      throw new Error('the listing is truncated and has no continuation token')
    }
  } while (ContinuationToken !== undefined)
  return files
}

interface Shown {
  readonly Key?: string | undefined
  readonly Size?: number | undefined
  readonly LastModified?: Date | undefined
  readonly ETag?: string | undefined
}

/** Whole seconds: a listing has a finer time than HeadObject. */
function toFile(prefix: string, { Key = '', Size = 0, LastModified, ETag }: Shown): RemoteFile {
  const seconds = Math.floor((LastModified?.getTime() ?? 0) / 1_000)
  const name = Key.slice(prefix.length)
  return { name, path: Key, bytes: Size, modifiedMs: seconds * 1_000, tag: ETag }
}

function refuseLarge({ path, bytes }: RemoteFile): void {
  if (bytes <= copyBytesMax) return
  throw new Fault(
    'SOURCE_REFUSED',
    `${path} has ${bytes} bytes and S3 copies at most ${copyBytesMax}; use ended: take, mark or leave`,
  )
}

const statusOf = (error: unknown) =>
  error instanceof S3ServiceException ? error.$metadata.httpStatusCode : undefined

function unlessGone(error: unknown): undefined {
  if (statusOf(error) !== 404) throw error
}

const codes: Readonly<Record<number, FaultCode>> = {
  401: 'SOURCE_LOGIN',
  403: 'PERMISSION',
  404: 'SOURCE_REFUSED',
  412: 'SOURCE_CHANGED',
}

function toFault({ bucket }: S3, key: string, error: unknown): Fault {
  if (error instanceof Fault) return error
  const { name, message } = error as Error
  const status = statusOf(error)
  const refused = status !== undefined && status < 500 ? 'SOURCE_REFUSED' : 'SOURCE_UNREACHABLE'
  const detail = `bucket ${bucket}, ${key || 'its list'}: ${name} ${message}`.trim()
  return new Fault(codes[status ?? 0] ?? refused, detail, { cause: error })
}
