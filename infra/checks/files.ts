import { resolve } from 'node:path'
import { followChain } from '../../pipeline/ledger/audit.js'
import type { Context } from '../commands/context.js'
import { printable } from '../commands/output/table.js'
import { readProblems } from '../operations/problems.js'
import { withStore } from '../stack/connections.js'
import {
  attachedTo,
  bad,
  type Check,
  type CheckResult,
  good,
  notAttached,
  warning,
} from './check.js'

/** Checks of received files, made through the stack on the data folder. */
export const fileChecks: readonly Check[] = [
  { name: 'files', look: files },
  { name: 'audit log', look: auditLog },
]

async function files(context: Context): Promise<CheckResult> {
  const attached = attachedTo(context)
  if (attached === undefined) return notAttached
  const { waiting, quarantined, away } = await readProblems({
    ...attached,
    profile: attached.run.profile,
  })
  if (away.length > 0) {
    const lines = away.map(({ code, detail }) => `${code}: ${detail}`)
    return bad(
      lines.join('\n'),
      `bring it back, see ${resolve(context.homePath)}/logs; files wait until it responds`,
    )
  }
  const lines = [
    ...waiting.map(
      ({ file, since, code, reason }) => `${file} is waiting since ${since}: ${code}: ${reason}`,
    ),
    ...quarantined.map(({ file, code, reason }) => `${file} is quarantined: ${code}: ${reason}`),
  ]
  if (lines.length === 0) return good('none waiting, none quarantined')
  return warning(
    lines.map(printable).join('\n'),
    'run tieline status and follow the remedy of each file',
  )
}

/** Verifies the hash chain; the hash of the last entry detects a truncated log. */
async function auditLog(context: Context): Promise<CheckResult> {
  const attached = attachedTo(context)
  if (attached === undefined) return notAttached
  const { entries, hash, broken } = await withStore(attached.store, followChain)
  if (broken === undefined) return good(`${entries} entries, last hash ${hash}`)
  return bad(
    `entry ${broken.number} of audit_log ${broken.what}`,
    'find out who can write to the database, and compare the log with a backup',
  )
}
