import { dismissProblems } from '../operations/dismiss.js'
import { commandActor } from '../stack/actor.js'
import { withQueues, withStore } from '../stack/connections.js'
import { type Context, exitCodes } from './context.js'
import { useData } from './use-stack.js'

/** Dismisses a problem that `tieline status` lists, with a reason, until it occurs again. */
export async function dismissCommand(
  context: Context,
  name: string,
  options: { readonly because: string },
): Promise<number> {
  const { because } = options
  const count = await useData(context, 'dismiss', (stack) =>
    withStore(stack.store, (store) =>
      withQueues(stack, (queues) =>
        dismissProblems({ store, queues, profile: stack.profile }, commandActor(), {
          name,
          because,
        }),
      ),
    ),
  )
  const done =
    count === 1
      ? `1 problem of ${name} dismissed; it is shown again if it occurs again`
      : `${count} problems of ${name} dismissed; they are shown again if they occur again`
  context.print(done)
  return exitCodes.good
}
