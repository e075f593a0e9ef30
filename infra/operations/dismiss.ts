import type { Actor } from '../../pipeline/ledger/audit.js'
import { dismiss, type Occurrence, readDismissed } from '../../pipeline/ledger/dismissals.js'
import { readFailingSystems } from '../../pipeline/ledger/systems.js'
import type { Queues } from '../../pipeline/queues/bullmq.js'
import { readSources } from '../../pipeline/sources/state.js'
import type { Store } from '../../pipeline/store/clickhouse.js'
import { toInstant } from '../../pipeline/store/columns.js'
import { Fault } from '../../schemas/fault.js'
import type { Profile } from '../../schemas/settings/profile.js'
import { readOpenRuns } from '../commands/output/failing-runs.js'
import { readProblemsOf } from './problems.js'

export interface DismissContext {
  readonly store: Store
  readonly queues: Pick<Queues, 'waits'>
  readonly profile: Profile
}

/** An open problem and the name by which a command calls it. */
interface OpenProblem extends Occurrence {
  readonly name: string
}

const reasonMax = 500

/**
 * Dismisses the open problems of a name or a key and records the reason in the audit log; returns how
 * many there are. They come back when they occur again. Throws `CONFIG` for an unknown name or
 * without a reason.
 */
export async function dismissProblems(
  context: DismissContext,
  actor: Actor,
  { name, because }: { readonly name: string; readonly because: string },
): Promise<number> {
  const reason = because.trim()
  if (reason === '' || reason.length > reasonMax) {
    throw new Fault('CONFIG', `the reason is missing or longer than ${reasonMax} characters`)
  }
  const open = await listOpen(context)
  const found = open.filter((one) => one.name === name || one.key === name)
  if (found.length === 0) {
    const names = [...new Set(open.map((one) => one.name))].slice(0, 20).join(', ')
    throw new Fault('CONFIG', `${name} is not an open problem; open are ${names || 'none'}`)
  }
  for (const { key, since } of found)
    await dismiss(context.store, actor, { key, since, because: reason })
  return found.length
}

/** Systems of the utility that fail and are not dismissed. */
export async function readOpenSystems(store: Store, profile: Profile) {
  const [failing, isDismissed] = await Promise.all([
    readFailingSystems(store, profile),
    readDismissed(store),
  ])
  return failing.filter(({ system, since }) => !isDismissed({ key: `system:${system}`, since }))
}

async function listOpen({
  store,
  queues,
  profile,
}: DismissContext): Promise<readonly OpenProblem[]> {
  const [problems, sources, systems, runs, isDismissed] = await Promise.all([
    readProblemsOf({ store, queues }),
    readSources(store),
    readFailingSystems(store, profile),
    readOpenRuns(store, profile),
    readDismissed(store),
  ])
  const { waiting, quarantined, missing } = problems
  const others = [
    ...[...sources].flatMap(([name, { failure }]) =>
      failure === undefined ? [] : [{ key: `source:${name}`, name, since: failure.since }],
    ),
    ...systems.map(({ system, since }) => ({ key: `system:${system}`, name: system, since })),
  ]
  const listed = [...waiting, ...quarantined].map(({ key, file, since }) => ({
    key,
    name: file,
    since,
  }))
  const damage = missing.map(({ key, subject, since }) => ({ key, name: subject, since }))
  return [
    ...[...listed, ...damage].map((one) => ({ ...one, since: new Date(one.since) })),
    ...runs.map(({ key, cycle, since }) => ({
      key,
      name: `cycle ${cycle}`,
      since: toInstant(since),
    })),
    ...others.filter((one) => !isDismissed(one)),
  ]
}
