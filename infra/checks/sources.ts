import { join, resolve } from 'node:path'
import { createSource } from '../../pipeline/sources/drivers.js'
import type { Source } from '../../pipeline/sources/source.js'
import { Fault, faultCodes } from '../../schemas/fault.js'
import type { Profile } from '../../schemas/settings/profile.js'
import type { SourceSettings } from '../../schemas/settings/source.js'
import type { Context } from '../commands/context.js'
import { printable } from '../commands/output/table.js'
import { bad, type Check, type CheckResult, good, readIfValid } from './check.js'

/** Checks of the sources on other machines: log in and list the folder. */
export const sourceChecks: readonly Check[] = [{ name: 'sources', look: sources }]

async function sources(context: Context): Promise<CheckResult> {
  const profile = readIfValid(context)
  const away = profile?.sources.filter(({ kind }) => kind !== 'folder') ?? []
  if (profile === undefined || away.length === 0) {
    return good('not checked: the profile has no source on another machine')
  }
  const looks = await Promise.all(away.map((settings) => look(profile, settings, context)))
  const detail = looks.map(({ text }) => printable(text)).join('\n')
  const todo = new Set(
    looks.flatMap(({ fault }) => (fault ? [faultCodes[fault.code].meaning] : [])),
  )
  return todo.size === 0 ? good(detail) : bad(detail, [...todo].join(' '))
}

/** Lists the folder of a source as a poll does, without fetching or changing files. */
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
    return { text: `${name}: ${kind} OK, ${files.length} files to take` }
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    return { text: `${name}: ${error.message}`, fault: error }
  } finally {
    await source?.close()
  }
}
