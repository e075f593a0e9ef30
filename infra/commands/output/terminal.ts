import { StringDecoder } from 'node:string_decoder'

/**
 * A result as it is shown on a terminal: line breaks and tabs stay, any other control character becomes a
 * question mark. Rows and file names are what a sender wrote, which could control the terminal.
 */
export async function* forTerminal(
  chunks: AsyncIterable<Buffer | string>,
): AsyncGenerator<string, void> {
  const decoder = new StringDecoder('utf8')
  for await (const chunk of chunks) {
    yield plain(typeof chunk === 'string' ? chunk : decoder.write(chunk))
  }
  yield plain(decoder.end())
}

function plain(text: string): string {
  return text.replace(/[^\P{C}\n\t]/gu, '?')
}
