/**
 * The end of a connection, with which every call fails that has no answer: the library never answers what is asked
 * of a channel that has closed.
 */
export interface ConnectionEnd {
  isOpen(): boolean
  end(): void
  /** The outcome of a call, or a failure once the connection has ended. */
  orFail<T>(call: () => Promise<T>): Promise<T>
  /**
   * Gives up a server that answers nothing while calls wait: each `timeoutMs` it is asked something small, which
   * it has to answer within the next. A long call that goes on is not cut off by this.
   */
  giveUpIfSilent(timeoutMs: number, probe: Probe): void
}

interface Probe {
  ask(): Promise<unknown>
  giveUp(): void
}

export function createEnd(): ConnectionEnd {
  const waiting = new Set<(reason: string) => void>()
  let isOpen = true
  let isAnswered = true
  let timer: NodeJS.Timeout | undefined
  const end = (reason: string) => {
    isOpen = false
    clearInterval(timer)
    for (const fail of waiting) fail(reason)
  }
  const answer = () => {
    isAnswered = true
  }
  return {
    isOpen: () => isOpen,
    end: () => end(connectionEnded),
    orFail: (call) =>
      new Promise((resolve, reject) => {
        const fail = (reason: string) => reject(new Error(reason))
        if (!isOpen) return fail(connectionEnded)
        waiting.add(fail)
        call()
          .then(resolve, reject)
          .finally(() => {
            waiting.delete(fail)
            answer()
          })
      }),
    giveUpIfSilent: (timeoutMs, { ask, giveUp }) => {
      timer = setInterval(() => {
        if (waiting.size === 0) return answer()
        if (!isAnswered) {
          end(noResponse(timeoutMs))
          return giveUp()
        }
        isAnswered = false
        ask().then(answer, answer)
      }, timeoutMs)
      timer.unref()
    },
  }
}

const connectionEnded = 'the connection has ended'

export function noResponse(timeoutMs: number): string {
  return `no response within ${timeoutMs} ms`
}
