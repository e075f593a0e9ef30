import { createWriteStream, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { GetObjectCommand, S3Client, type S3ClientConfig } from '@aws-sdk/client-s3'
import { createSource } from '../../pipeline/sources/drivers.js'
import { copyOf } from '../../pipeline/sources/remote.js'
import type { SourceSettings } from '../../schemas/settings/source.js'
import { peakMb } from '../memory.js'

/** One fetch, from the first word to the server until the file is here. */
export type FetchRequest =
  | { readonly what: 'source'; readonly settings: SourceSettings; readonly folder: string }
  | {
      readonly what: 'sdk'
      readonly client: S3ClientConfig
      readonly object: { readonly Bucket: string; readonly Key: string }
      readonly folder: string
    }

export interface FetchAnswer {
  readonly seconds: number
  readonly bytes: number
  readonly peakMb: number
}

process.once('message', async (request: FetchRequest) => {
  const path = mkdtempSync(join(request.folder, 'fetched-'))
  const file = await fetch(request, path)
  const answer = { ...file, peakMb: peakMb(process.pid) ?? 0 }
  rmSync(path, { recursive: true, force: true })
  process.send?.(answer, () => process.exit(0))
})

async function fetch(request: FetchRequest, path: string) {
  return request.what === 'source' ? fetchSource(request, path) : fetchSdk(request, path)
}

async function fetchSource({ settings }: Extract<FetchRequest, { what: 'source' }>, path: string) {
  const source = createSource(settings, {
    landing: path,
    archive: path,
    quarantine: path,
    freeDiskBytesMin: 0,
    naming: { companyCodes: [], fileNames: [] },
    secret: (reference) => ('file' in reference ? readFileSync(reference.file, 'utf8') : 'secret'),
  })
  const [listed] = await source.list()
  if (listed === undefined) throw new Error('the source is empty')
  await source.close()
  const startedAt = performance.now()
  const arrival = { ...listed, force: false, arrival: 1, arrivedAt: new Date() }
  await source.fetch?.(arrival)
  const seconds = (performance.now() - startedAt) / 1_000
  return { seconds, bytes: statSync(copyOf(path, arrival)).size }
}

async function fetchSdk(
  { client: config, object }: Extract<FetchRequest, { what: 'sdk' }>,
  path: string,
) {
  const to = join(path, 'object')
  const startedAt = performance.now()
  const client = new S3Client(config)
  const { Body } = await client.send(new GetObjectCommand(object))
  await pipeline(Body as Readable, createWriteStream(to))
  const seconds = (performance.now() - startedAt) / 1_000
  return { seconds, bytes: statSync(to).size }
}
