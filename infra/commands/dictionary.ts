import { createStore } from '../../pipeline/stores/clickhouse.js'
import { type Context, exitCodes } from '../context.js'
import { useData } from '../use-stack.js'
import { renderDictionary } from '../views/dictionary.js'

/** Prints the published views with what each column holds, as Markdown. */
export async function dictionary(context: Context): Promise<number> {
  const text = await useData(context, 'dictionary', async ({ store: address }) => {
    const store = createStore(address)
    try {
      return await renderDictionary(store)
    } finally {
      await store.close()
    }
  })
  context.print(text.trimEnd())
  return exitCodes.good
}
