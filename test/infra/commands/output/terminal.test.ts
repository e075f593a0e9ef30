import t from 'tap'
import { forTerminal } from '../../../../infra/commands/output/terminal.js'

t.test('nothing that a sender wrote controls the terminal', async (t) => {
  const shown = async (...chunks: readonly (Buffer | string)[]) => {
    let text = ''
    for await (const piece of forTerminal(sent(chunks))) text += piece
    return text
  }
  async function* sent(chunks: readonly (Buffer | string)[]) {
    yield* chunks
  }
  t.equal(await shown('a\tb\n┌─é─┐\n'), 'a\tb\n┌─é─┐\n')
  t.equal(await shown('DEMO_\x1b[31mElectric.csv\n'), 'DEMO_?[31mElectric.csv\n')
  t.equal(await shown('\x1b]0;title\x07\r\x9b2J\u202egpj'), '?]0;title???2J?gpj')
  const bytes = Buffer.from('é€\x1b')
  t.equal(await shown(...[...bytes].map((byte) => Buffer.from([byte]))), 'é€?', 'byte by byte')
})
