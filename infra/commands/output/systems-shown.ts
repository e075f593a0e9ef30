import { type SystemFailure, systemKind } from '../../../pipeline/ledger/systems.js'
import { type TableColumn, utcText } from './table.js'

/** A system that fails, for display. */
export interface SystemShown extends Omit<SystemFailure, 'since'> {
  /** The name that an operator knows. */
  readonly name: string
  readonly since: string
}

const names: Readonly<Record<string, string>> = {
  cis: 'CIS',
  ami: 'AMI head-end',
  mdm: 'MDM',
  identity: 'identity provider',
}

export function showSystems(failing: readonly SystemFailure[]): readonly SystemShown[] {
  return failing.map((one) => ({
    ...one,
    name: one.system.replace(/^\S+/, names[systemKind(one)] ?? systemKind(one)),
    since: utcText(one.since),
  }))
}

export const systemColumns: readonly TableColumn<SystemShown>[] = [
  { title: 'system', cell: (row) => row.name },
  { title: 'failing since', cell: (row) => row.since },
  { title: 'failed requests', right: true, cell: (row) => String(row.failures) },
  { title: 'reason', cell: (row) => row.code },
]
