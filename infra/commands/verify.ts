import { type Verification, type VerifyOptions, verify } from '../../pipeline/verify/verify.js'
import { missingTodo } from '../operations/problems.js'
import { withWholeStore } from '../stack/connections.js'
import { type Context, exitCodes } from './context.js'
import { grouped, printable } from './output/table.js'
import { type InUse, useData } from './use-stack.js'

const shownMax = 100

/**
 * Compares what is stored with the ledger. The exit code is 1 if something is missing or damaged;
 * `tieline status`, the operations page and alerts show it from then on.
 */
export async function verifyCommand(
  context: Context,
  options: { readonly skipFiles: boolean; readonly json: boolean },
): Promise<number> {
  const found = await useData(context, 'verify', (stack) =>
    verifyData(stack, { files: !options.skipFiles }),
  )
  context.print(options.json ? JSON.stringify(found, undefined, 2) : render(found))
  return found.damage.length === 0 ? exitCodes.good : exitCodes.fault
}

/** Verifies the data in use; a replica that lags has everything first. */
export function verifyData(
  { store: address, home: folders, profile }: InUse,
  options: VerifyOptions,
): Promise<Verification> {
  const { machine } = folders
  return withWholeStore(address, (store) =>
    verify({ store, folders, machine, profile, now: () => new Date() }, options),
  )
}

function render({ arrivals, rows, files, absent, damage }: Verification): string {
  const kept = files === undefined ? '' : `, ${grouped(files)} kept files`
  const compared = `compared ${grouped(rows)} rows of ${grouped(arrivals)} files${kept} with the ledger`
  const lines = damage.slice(0, shownMax).map(({ detail }) => `✗ ${printable(detail)}`)
  const more = damage.length - lines.length
  const gone =
    absent === 0
      ? []
      : [`! ${absent} published files are not in the archive and could not be repaired`]
  if (damage.length === 0) return [compared, ...gone, '✓ nothing is missing'].join('\n')
  const rest = more > 0 ? [`and ${more} more, see --json`] : []
  return [compared, ...gone, ...lines, ...rest, `→ ${missingTodo}`].join('\n')
}
