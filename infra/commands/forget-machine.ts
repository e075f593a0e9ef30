import { recordAct } from '../../pipeline/ledger/audit.js'
import { forgetMachine, hasReported } from '../../pipeline/machine.js'
import { resolveDamageOn } from '../../pipeline/verify/damage.js'
import { Fault } from '../../schemas/fault.js'
import { commandActor } from '../stack/actor.js'
import { type Context, exitCodes } from './context.js'
import { useStore } from './use-stack.js'

/** Forgets a machine whose disk is destroyed: its files are landed again, and nothing is asked of it. */
export async function forgetMachineCommand(context: Context, machine: string): Promise<number> {
  await useStore(context, 'forget-machine', async (store) => {
    if (!(await hasReported(store, machine))) {
      throw new Fault(
        'CONFIG',
        `no machine ${machine} has reported; tieline doctor lists their ids`,
      )
    }
    await recordAct(store, commandActor(), { act: 'forget', subject: machine, detail: '' })
    await forgetMachine(store, machine)
    await resolveDamageOn(store, machine, new Date())
  })
  context.print(`${machine} is forgotten`)
  return exitCodes.good
}
