import { readSources } from '../../../pipeline/sources/state.js'
import { showSources } from '../../commands/output/sources-shown.js'
import type { PanelSource } from './query.js'

/** The sources of the profile: polled, paused, or failing with the reason. */
export async function readSourceHealth({ store, profile }: PanelSource) {
  return showSources(profile, await readSources(store))
}
