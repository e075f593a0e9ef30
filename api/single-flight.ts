/** Concurrent calls for one key share one run and its outcome, also its error. */
export function createSingleFlight<T>(): (key: string, run: () => Promise<T>) => Promise<T> {
  const running = new Map<string, Promise<T>>()
  return (key, run) => {
    const known = running.get(key)
    if (known !== undefined) return known
    const started = run().finally(() => running.delete(key))
    running.set(key, started)
    return started
  }
}
