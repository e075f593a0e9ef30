import { readHealed } from '../../../pipeline/ledger/healed.js'
import { showHealed } from '../../commands/output/healed-shown.js'
import type { PanelSource } from './query.js'

/** Restarts and outages of the last 7 days. */
export async function readHealedShown({ store, now }: PanelSource) {
  return showHealed(await readHealed(store, now()))
}
