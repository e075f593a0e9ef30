import { countedTable } from './entries.js'

const bill = 'run tieline bill for its cycles and periods'
const compare = 'run tieline compare'
const restart = 'restart Tieline'
/** Nothing has to be done before its part is deleted. */
const unneeded = ''

/** What brings back the rows of tables that Tieline can make again. */
const commands: Readonly<Record<string, string>> = {
  bill_run_row: bill,
  bill_plan: bill,
  bill_row: bill,
  bill_variance_row: bill,
  bill_state: bill,
  comparison_run_row: compare,
  rate_comparison_row: compare,
  comparison_state: compare,
  verification: 'run tieline verify',
  usage_day_row: 'run tieline repair',
  stale_day: 'run tieline repair',
  source_state: 'run tieline pause for sources that were paused',
  held_claim: 'run tieline register again with the customers of the last hour',
  schema_migration: restart,
  self_test: restart,
  chunk_receipt: unneeded,
  alert: unneeded,
  healed: unneeded,
}

/** What to do about a part that the engine set aside. `path` is where it lies on the disk of the server. */
export function remedyOf({
  table,
  path,
}: {
  readonly table: string
  readonly path: string
}): string {
  if (countedTable(table) !== undefined) return 'run tieline repair'
  const command = commands[table]
  if (command === undefined) return 'restore a backup'
  if (command === unneeded) return `delete the folder ${path}: its rows are not needed again`
  return `${command}, then delete the folder ${path}`
}

/** The tables that Tieline can make again. */
export const madeAgain: readonly string[] = Object.keys(commands)
