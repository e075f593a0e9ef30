import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

export interface S3Server {
  readonly port: number
  close(): Promise<void>
}

/**
 * `fauxqs` of npm, a server that speaks S3 and keeps objects in memory, in a process of its own. What
 * it cannot prove: signatures and rights are not looked at, and no answer is ever throttled.
 */
export async function createS3Server(): Promise<S3Server> {
  const child = fork(fileURLToPath(new URL('./s3-server-process.js', import.meta.url)))
  const [port] = (await once(child, 'message')) as [number]
  return {
    port,
    close: async () => {
      const ended = once(child, 'exit')
      child.kill('SIGKILL')
      await ended
    },
  }
}
