/** A longer text cannot be a time, and is not kept. */
const charactersMax = 100

/** Reads the times of a file, and remembers the different ones, of which a file has few. */
export function rememberTimes<T>(
  read: (text: string) => T,
  { timesMax }: { readonly timesMax: number },
): (text: string) => T {
  const known = new Map<string, { readonly meaning: T }>()
  return (text) => {
    const found = known.get(text)
    if (found !== undefined) return found.meaning
    const meaning = read(text)
    if (text.length > charactersMax) return meaning
    if (known.size === timesMax) known.clear()
    known.set(text, { meaning })
    return meaning
  }
}
