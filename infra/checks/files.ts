import { resolve } from 'node:path'
import { followChain } from '../../pipeline/ledger/audit.js'
import { overdueSince, readLastVerifications } from '../../pipeline/verify/damage.js'
import type { Context } from '../commands/context.js'
import { printable } from '../commands/output/table.js'
import { missingTodo, readOpenDamage, readProblems } from '../operations/problems.js'
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
  { name: 'stored rows', look: storedRows },
  { name: 'audit log', look: auditLog },
]

const shownMax = 10

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

/** The result of the latest verification; one takes seconds to minutes, so none is started here. */
async function storedRows(context: Context): Promise<CheckResult> {
  const attached = attachedTo(context)
  if (attached === undefined) return notAttached
  const [missing, last] = await withStore(attached.store, async (store) => [
    await readOpenDamage(store),
    await readLastVerifications(store),
  ])
  if (missing.length > 0) {
    const details = missing.slice(0, shownMax).map(({ detail, since }) => {
      return printable(`${detail}, since ${since.toISOString()}`)
    })
    const more = missing.length - details.length
    return bad([...details, ...(more > 0 ? [`and ${more} more`] : [])].join('\n'), missingTodo)
  }
  const rows = last.find(({ covered }) => covered === 'rows')
  if (rows === undefined) return warning('not verified yet', 'run tieline verify')
  const at = `complete at ${rows.verifiedAt.toISOString()}`
  if (overdueSince(last, new Date()) === undefined) return good(at)
  return warning(`${at}, over two days ago`, 'see why in worker.log, or run tieline verify')
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
