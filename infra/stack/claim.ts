import { once } from 'node:events'
import { statSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { text } from 'node:stream/consumers'

export interface Claim {
  release(): Promise<void>
}

/**
 * Claims an existing folder for this process. The claim is an abstract socket that ends with the
 * process, so a crash leaves nothing stale. Throws `EADDRINUSE` while another process holds it.
 */
export async function claimFolder(path: string): Promise<Claim> {
  const server = createServer((socket) => socket.end(String(process.pid)))
  server.unref().listen(socketOf(path))
  await once(server, 'listening')
  return { release: () => new Promise((resolve) => server.close(() => resolve())) }
}

/** The pid of the process that has claimed a folder; `unknown` if it ends meanwhile. */
export async function claimantOf(path: string): Promise<string> {
  return text(connect(socketOf(path))).catch(() => 'unknown')
}

/** By device and inode: containers that share a network have different folders at the same path. */
function socketOf(path: string): { readonly path: string } {
  const { dev, ino } = statSync(path, { bigint: true })
  return { path: `\0tieline-${dev}-${ino}` }
}
