import { join } from 'node:path'
import { usageFile } from '../../../infra/demo/usage-file.js'

/** Files of the same kind for a checkout without the real ones: same zone, days and lengths. */
export async function writeStandIns(
  folder: string,
  names: Readonly<Record<'Electric' | 'Gas', string>>,
): Promise<void> {
  const places = [
    { accountNumber: '910020087577', externalSiteId: '5113018555' },
    { accountNumber: '910020091234', externalSiteId: '5113027711' },
  ] as const
  const calendar = { firstDay: '2015-11-22', days: 809, zone: 'America/Chicago', seed: 2018 }
  const meters = (ids: readonly string[]) =>
    places.map((place, index) => ({ ...place, meterId: ids[index] as string }))
  await usageFile(join(folder, names.Electric), {
    ...calendar,
    meters: meters(['5532879', '5541903']),
    intervalSeconds: 3_600,
  })
  await usageFile(join(folder, names.Gas), {
    ...calendar,
    meters: meters(['G771204', 'G771988']),
    intervalSeconds: 86_400,
    shape: 'gas',
  })
}
