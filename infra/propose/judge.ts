import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { type Checked, check, toEntries } from '../../pipeline/check.js'
import { skimFileName } from '../../schemas/file-name.js'
import { suggestPattern } from '../../schemas/name-pattern.js'
import { type Profile, parseProfile } from '../../schemas/settings/profile.js'
import { readProfile } from '../stack/profile-file.js'
import { temporaryFolder, withTemporaryStore } from '../stack/temporary-store.js'
import { toYaml } from '../yaml.js'
import type { ProposedFeed } from './feeds.js'
import type { SentSample } from './sample.js'

/** The profile of a utility with the proposal in it. Throws `PROFILE` where that is not valid. */
export function withSection(base: unknown, section: unknown): Profile {
  return parseProfile(merge(base, section))
}

/** What is needed of a profile that does not exist yet. */
export const sampleProfile = {
  companyCodes: ['SAMPLE'],
  database: 'tieline_proposal',
  timeZone: 'UTC',
}

type Section = Readonly<Record<string, unknown>>

function merge(base: unknown, section: unknown): unknown {
  if (!isSection(base) || !isSection(section)) return section
  const merged = Object.entries(section).map(([name, value]) => [name, merge(base[name], value)])
  // The mapping of another layout would be mixed with this one.
  if (section['name'] !== undefined) return section
  return { ...base, ...Object.fromEntries(merged) }
}

function isSection(value: unknown): value is Section {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export interface SamplesOptions {
  readonly profile: Profile
  readonly feed: ProposedFeed
  readonly ending: AbortSignal
}

/** Judges samples as `check` does, under names that the profile takes; the receipts have their own names. */
export async function judgeSamples(
  samples: readonly SentSample[],
  { profile, feed, ending }: SamplesOptions,
): Promise<readonly Checked[]> {
  const folder = mkdtempSync(join(temporaryFolder(), 'tieline-propose-'))
  try {
    const paths = samples.map((sample, at) => {
      const path = join(folder, nameForLoad(sample, { profile, feed, at }))
      copyFileSync(sample.path, path)
      return path
    })
    const entries = await toEntries(paths)
    const own = { ...profile, fileNames: [] }
    const checked = await withTemporaryStore({ profile: own, ending }, (temporary) =>
      check(entries, temporary),
    )
    return checked.map((one, at) => ({
      ...one,
      receipt: { ...one.receipt, fileName: samples[at]?.name ?? one.receipt.fileName },
    }))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

interface LoadName {
  readonly profile: Profile
  readonly feed: ProposedFeed
  readonly at: number
}

/** A name that the profile takes. */
export function nameForLoad(
  { fileDate, packed }: SentSample,
  { profile, feed, at }: LoadName,
): string {
  const [year, month, day] = fileDate.split('-')
  const ending = { none: '', gzip: '.gz', zip: '.zip' }[packed]
  return `${profile.companyCodes[0]}_${day}${month}${year}_${feed}_${at + 1}.csv${ending}`
}

/** What to do about names that the profile does not take; nothing where it takes them all. */
export function adviseNames(
  samples: readonly SentSample[],
  { profilePath, feed }: { readonly profilePath: string; readonly feed: ProposedFeed },
): readonly string[] {
  const profile = readProfile(profilePath)
  const odd = samples.flatMap(({ name }) => (skimFileName(name, profile) ? [] : [name]))
  if (odd.length === 0) return []
  const likes = new Set(odd.flatMap((name) => suggestPattern(name) ?? []))
  const fileNames = [...likes].map((like) => ({ like, feed }))
  return [
    `Names such as ${odd.join(', ')} need a pattern in fileNames of ${profilePath}, or other names.`,
    ...(likes.size === 0 ? [] : ['Add this to the profile:', `  ${toYaml({ fileNames })}`]),
  ]
}
