import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { tryWriting } from '../../pipeline/sources/disk.js'
import { createSource } from '../../pipeline/sources/drivers.js'
import type { Source } from '../../pipeline/sources/source.js'
import { Fault, faultCodes } from '../../schemas/fault.js'
import type { Profile } from '../../schemas/settings/profile.js'
import type { SourceSettings } from '../../schemas/settings/source.js'
import type { Context } from '../commands/context.js'
import { printable } from '../commands/output/table.js'
import {
  bad,
  type Check,
  type CheckResult,
  good,
  readIfValid,
  skipped,
  withProfile,
} from './check.js'

/**
 * Checks of the sources on other machines (log in, list the folder) and of the places of receipts. Where
 * receipts go, a small file is written and removed.
 */
export const sourceChecks: readonly Check[] = [
  { name: 'sources', look: withProfile(sources) },
  { name: 'receipts', look: receipts },
]

async function sources(profile: Profile, context: Context): Promise<CheckResult> {
  const away = profile.sources.filter(({ kind }) => kind !== 'folder')
  if (away.length === 0) return skipped('the profile has no source on another machine')
  const looks = await Promise.all(away.map((settings) => look(profile, settings, context)))
  const detail = looks.map(({ text }) => printable(text)).join('\n')
  const todo = new Set(
    looks.flatMap(({ fault }) => (fault ? [faultCodes[fault.code].meaning] : [])),
  )
  return todo.size === 0 ? good(detail) : bad(detail, [...todo].join(' '))
}

/** The outbox, and the folders of this machine beside whose files receipts are written. */
async function receipts(context: Context): Promise<CheckResult> {
  const home = resolve(context.homePath)
  const beside = (readIfValid(context)?.sources ?? []).flatMap((source) =>
    source.kind === 'folder' && source.receipts ? [resolve(home, source.path)] : [],
  )
  const places = [join(home, 'outbox'), ...beside].filter((place) => existsSync(place))
  if (places.length === 0) return skipped('the data folder is not created yet')
  for (const place of places) await tryWriting(place)
  return good(`can be written to ${places.join(', ')}`)
}

/**
 * Lists the folder of a source as a poll does, without fetching files. Writes and removes a file of its
 * own if receipts go there.
 */
async function look(
  profile: Profile,
  settings: SourceSettings,
  { homePath, secret }: Context,
): Promise<{ readonly text: string; readonly fault?: Fault }> {
  const { name, kind } = settings
  const at = (folder: string) => join(resolve(homePath), folder)
  let source: Source | undefined
  try {
    source = createSource(settings, {
      landing: at('landing'),
      archive: at('archive'),
      quarantine: at('quarantine'),
      freeDiskBytesMin: profile.limits.freeDiskBytesMin,
      naming: profile,
      secret,
    })
    const files = await source.list()
    if (settings.receipts) await source.tryWriting?.()
    const written = settings.receipts ? ', receipts can be written' : ''
    return { text: `${name}: ${kind} OK, ${files.length} files to take${written}` }
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    return { text: `${name}: ${error.message}`, fault: error }
  } finally {
    await source?.close()
  }
}
