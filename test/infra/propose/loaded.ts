import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sampleProfile, withSection } from '../../../infra/propose/judge.js'
import { type Proposal, propose } from '../../../infra/propose/proposal.js'
import { readSample } from '../../../infra/propose/sample.js'
import { toSection } from '../../../infra/propose/section.js'
import { timesOf } from '../../../schemas/settings/profile.js'
import { readTimestamp } from '../../../schemas/time/read-timestamp.js'
import { createZone } from '../../../schemas/time/zone.js'
import { convert } from '../../pipeline/formats/convert.js'
import type { Layout, TrueRead } from './sending.js'

/** What is proposed for a sample, which is written to a file for it. */
export async function proposalFor(
  { file, encoding }: Pick<Layout, 'file'> & Partial<Layout>,
  answers: Readonly<Record<string, string>>,
): Promise<Proposal> {
  const folder = mkdtempSync(join(tmpdir(), 'tieline-samples-'))
  try {
    const path = join(folder, 'sample.csv')
    writeFileSync(path, Buffer.from(file, encoding))
    const samples = [await readSample(path)]
    return propose(samples, { answers: new Map(Object.entries(answers)), timeZone: undefined })
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** What is asked, by the setting that each question is about. */
export function openOf({ findings }: Proposal): readonly string[] {
  return findings.filter(({ question }) => question !== undefined).map(({ setting }) => setting)
}

/** The reads that a load by a proposal would store, as texts that can be compared. */
export async function readsBy(
  { file, encoding, timeZone }: Pick<Layout, 'file' | 'timeZone' | 'encoding'>,
  proposal: Proposal,
): Promise<readonly string[]> {
  const feed = proposal.feed ?? 'Electric'
  const section = toSection(proposal)
  const profile = withSection(sampleProfile, section)
  const { format, ...usage } = section['usage'] as { format: Record<string, object> }
  const setting = { format: format[feed] as object, timeZone, usage, feed }
  const { plain, rowFormat } = await convert(Buffer.from(file, encoding), setting)
  const zone = createZone(timeZone)
  const seen = new Map<string, number>()
  const reads = plain
    .split('\n')
    .filter((row) => row !== '')
    .map((row) => {
      const [, , meter = '', text = '', quantity = '', seconds] = row.split(',')
      const times = timesOf(profile, rowFormat as Parameters<typeof timesOf>[1])
      const length = Number(seconds) || rowFormat.times?.length || 86_400
      const starts = readTimestamp(text, { ...times, zone, format: undefined, seconds: length })
      if (typeof starts === 'string') throw new Error(`${row}: ${starts}`)
      const key = `${meter} ${text}`
      const nth = seen.get(key) ?? 0
      seen.set(key, nth + 1)
      return { meter, start: starts[Math.min(nth, starts.length - 1)] as number, quantity }
    })
  return toTexts(reads)
}

export function toTexts(reads: readonly TrueRead[]): readonly string[] {
  return reads.map(({ meter, start, quantity }) => `${meter} ${start} ${Number(quantity)}`).sort()
}
