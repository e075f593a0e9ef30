/**
 * A port for a server of a test, and one a thousand above it. Both are below those that the system gives to
 * outgoing connections, which come and go while a test runs: who looks there for a server that is down may
 * even be connected with itself. `fetch` refuses 10080, and none above it.
 */
export function anyPort(): number {
  return 10_100 + Math.floor(Math.random() * 20_900)
}
