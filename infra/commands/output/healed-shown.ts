import type { Healed } from '../../../pipeline/ledger/healed.js'
import { showSystems } from './systems-shown.js'
import { type TableColumn, utcText } from './table.js'

/** What healed, for display. */
export interface HealedShown {
  readonly name: string
  /** What happened to it. */
  readonly event: string
  readonly began: string
  readonly healed: string
  readonly times: number
  readonly code: string
  readonly detail: string
}

const events: Readonly<Record<Healed['kind'], string>> = {
  restart: 'restarted',
  server: 'responds again',
  source: 'responds again',
  system: 'responds again',
}

export function showHealed(healed: readonly Healed[]): readonly HealedShown[] {
  return healed.map((one) => ({
    name: nameOf(one),
    event: events[one.kind],
    began: utcText(one.beganAt),
    healed: utcText(one.healedAt),
    times: one.times,
    code: one.code,
    detail: one.detail,
  }))
}

function nameOf({ kind, subject, code, detail, beganAt }: Healed): string {
  if (kind === 'source') return `source ${subject}`
  if (kind !== 'system') return subject
  const [shown] = showSystems([{ system: subject, code, detail, since: beganAt, failures: 0 }])
  return shown?.name ?? subject
}

export const healedColumns: readonly TableColumn<HealedShown>[] = [
  { title: 'healed in 7 days', cell: (row) => row.name },
  { title: 'event', cell: (row) => row.event },
  { title: 'failed since (UTC)', cell: (row) => row.began },
  { title: 'healed at (UTC)', cell: (row) => row.healed },
  { title: 'times', right: true, cell: (row) => String(row.times) },
  { title: 'reason', cell: (row) => row.code || row.detail },
]
