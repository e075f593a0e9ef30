import type { Conversion, Ending, SentRecord } from '../../../pipeline/formats/format.js'
import { openFile } from '../../../pipeline/formats/formats.js'
import { plainRows } from '../../../pipeline/formats/plain-rows.js'
import { parseProfile } from '../../../schemas/settings/profile.js'
import { createZone } from '../../../schemas/time/zone.js'

/** Settings of a profile that matter to formats. */
export interface Setting {
  readonly format: object
  readonly timeZone?: string
  readonly usage?: object
  readonly feed?: 'Electric' | 'Gas' | 'Billing'
}

/** A profile whose files of a feed have a format. */
export function profileWith({
  format,
  timeZone = 'Australia/Brisbane',
  usage,
  feed = 'Electric',
}: Setting) {
  return parseProfile({
    companyCodes: ['DEMO'],
    timeZone,
    ...(feed === 'Billing'
      ? { usage: { ...usage }, files: { format: { Billing: format } } }
      : { usage: { ...usage, format: { [feed]: format } } }),
    limits: { chunkBytes: '1 MB', freeDiskBytesMin: '0 B', rowBytesMax: '4 KB' },
  })
}

async function* inPieces(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

interface Converted {
  readonly plain: string
  readonly records: readonly SentRecord[]
  readonly ending: Ending
  readonly rowFormat: Conversion['rowFormat']
}

/** A file as plain rows, read in pieces of a size. Throws where its layout needs no conversion. */
export async function convert(
  bytes: Buffer | string | AsyncGenerator<Buffer>,
  setting: Setting,
  size = 65_536,
): Promise<Converted> {
  const profile = profileWith(setting)
  const context = { profile, zone: createZone(profile.timeZone) }
  const file = typeof bytes === 'string' ? Buffer.from(bytes) : bytes
  const pieces = Buffer.isBuffer(file) ? inPieces(file, size) : file
  const { conversion, input } = await openFile(context, setting.feed ?? 'Electric', pieces)
  if (conversion === undefined) throw new Error('the file is in the plain layout')
  const records: SentRecord[] = []
  const own: Conversion = {
    ...conversion,
    records: async function* seen(from) {
      for await (const batch of conversion.records(from)) {
        records.push(...batch)
        yield batch
      }
    },
  }
  const parts: Buffer[] = []
  for await (const part of plainRows(own, input)) parts.push(part)
  const plain = Buffer.concat(parts).toString('utf8')
  return { plain, records, ending: conversion.ending(), rowFormat: conversion.rowFormat }
}
