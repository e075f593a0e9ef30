import { renderDictionary } from '../schema/views/dictionary.js'
import { type Context, exitCodes } from './context.js'
import { useStore } from './use-stack.js'

/** Prints the published views and their columns with descriptions, as Markdown. */
export async function dictionary(context: Context): Promise<number> {
  const text = await useStore(context, 'dictionary', renderDictionary)
  context.print(text.trimEnd())
  return exitCodes.good
}
