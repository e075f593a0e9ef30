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
import { isPlain, type Place, type PlacedFile } from './remote-files.js'

type S3 = SettingsOf<'s3'>

/** What one `CopyObject` takes, 5 GiB. */
const copyBytesMax = 5 * 1024 ** 3

/**
 * A bucket of Amazon's S3 or of a server that speaks it. The keys right below the prefix are the
 * files; what belongs to one state of an object is asked for under its ETag.
 */
export function connectS3(
  settings: S3,
  secret: (reference: SecretReference) => string,
): () => Promise<Place> {
  return async () => createPlace(settings, createClient(settings, secret))
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
    requestHandler: { connectionTimeout: timeoutMs, socketTimeout: timeoutMs },
  })
}

function createPlace(settings: S3, client: S3Client): Place {
  const { bucket: Bucket, prefix } = settings
  const ask = <T>(key: string, run: () => Promise<T>) =>
    run().catch((error: unknown) => {
      throw toFault(settings, key, error)
    })
  const remove = (path: string) =>
    ask(path, async () => {
      await client.send(new DeleteObjectCommand({ Bucket, Key: path }))
    })
  return {
    list: () => ask(prefix, () => listAll(client, { Bucket, Prefix: prefix })),
    look: (path) =>
      ask(path, async () => {
        const found = await client
          .send(new HeadObjectCommand({ Bucket, Key: path }))
          .catch(unlessGone)
        return found && toFile(prefix, { ...found, Key: path, Size: found.ContentLength })
      }),
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
      await remove(file.path)
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
): Promise<readonly PlacedFile[]> {
  const files: PlacedFile[] = []
  const tokens = new Set<string | undefined>()
  let ContinuationToken: string | undefined
  do {
    if (tokens.has(ContinuationToken)) throw new Error('the listing goes in a circle')
    if (tokens.add(ContinuationToken).size > pagesMax) {
      throw new Error(`the listing has more than ${pagesMax} pages; take what has ended away`)
    }
    const asked = new ListObjectsV2Command({ ...folder, Delimiter: '/', ContinuationToken })
    const page = await client.send(asked)
    if (page.IsTruncated === undefined) throw new Error('the answer is no listing')
    for (const object of page.Contents ?? []) {
      const file = toFile(folder.Prefix, object)
      if (isPlain(file.name)) files.push(file)
    }
    ContinuationToken = page.IsTruncated ? page.NextContinuationToken : undefined
    if (page.IsTruncated && ContinuationToken === undefined) {
      throw new Error('the listing is cut short without a token to go on with')
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

/** Whole seconds: a listing gives more than a look does. */
function toFile(prefix: string, { Key = '', Size = 0, LastModified, ETag }: Shown): PlacedFile {
  const seconds = Math.floor((LastModified?.getTime() ?? 0) / 1_000)
  const name = Key.slice(prefix.length)
  return { name, path: Key, bytes: Size, modifiedMs: seconds * 1_000, tag: ETag }
}

function refuseLarge({ path, bytes }: PlacedFile): void {
  if (bytes <= copyBytesMax) return
  throw new Fault(
    'SOURCE_REFUSED',
    `${path} has ${bytes} bytes and S3 copies ${copyBytesMax} at once; use ended: take, mark or leave`,
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
