import { resolve } from 'node:path'
import { followChain } from '../../pipeline/ledger/audit.js'
import { createStore } from '../../pipeline/store/clickhouse.js'
import type { Context } from '../commands/context.js'
import { printable } from '../commands/output/table.js'
import { readProblems } from '../operations/problems.js'
import { openHome } from '../stack/home.js'
import { readRun } from '../stack/run-state.js'
import { attachStack } from '../stack/stack.js'
import { bad, type Check, type Finding, good, warning } from './check.js'

/** Checks of what came in: asked of the stack that runs on the data folder. */
export const fileChecks: readonly Check[] = [
  { name: 'files', look: files },
  { name: 'audit log', look: auditLog },
]

async function files({ homePath, external }: Context): Promise<Finding> {
  const path = resolve(homePath)
  const attached = readRun({ path }) && attachStack(openHome(path), external)
  if (attached === undefined) return good('not asked, for nothing runs on this data folder')
  const { waiting, quarantined, away } = await readProblems({
    ...attached,
    profile: attached.run.profile,
  })
  if (away.length > 0) {
    const lines = away.map(({ code, detail }) => `${code}: ${detail}`)
    return bad(lines.join('\n'), `files wait until it answers; ${path}/logs tells more`)
  }
  const lines = [
    ...waiting.map(
      ({ file, since, code, reason }) => `${file} waits since ${since}: ${code}: ${reason}`,
    ),
    ...quarantined.map(({ file, code, reason }) => `${file} is quarantined: ${code}: ${reason}`),
  ]
  if (lines.length === 0) return good('none waits, none is quarantined')
  return warning(lines.map(printable).join('\n'), 'tieline status says what to do about each')
}

/** Whether every entry is what it was written as; the hash of the last tells where the log ends. */
async function auditLog({ homePath, external }: Context): Promise<Finding> {
  const path = resolve(homePath)
  const attached = readRun({ path }) && attachStack(openHome(path), external)
  if (attached === undefined) return good('not asked, for nothing runs on this data folder')
  const store = createStore(attached.store)
  try {
    const { entries, hash, broken } = await followChain(store)
    if (broken === undefined) return good(`${entries} entries, the last has the hash ${hash}`)
    return bad(
      `entry ${broken.number} of audit_log ${broken.what}`,
      'find out who may write to the database; a backup has the log as it was',
    )
  } finally {
    await store.close()
  }
}
