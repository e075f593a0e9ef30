import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { text } from 'node:stream/consumers'

export interface Claim {
  release(): Promise<void>
}

/**
 * Claims a folder for this process by an absolute path. The claim is an abstract socket that ends with
 * the process, so a crash leaves nothing stale. Throws `EADDRINUSE` while another process holds it.
 */
export async function claimFolder(path: string): Promise<Claim> {
  const server = createServer((socket) => socket.end(String(process.pid)))
  server.unref().listen(socketOf(path))
  await once(server, 'listening')
  return { release: () => new Promise((resolve) => server.close(() => resolve())) }
}

/** The pid of the process that has claimed a folder; `unknown` if it ends meanwhile. */
export function claimantOf(path: string): Promise<string> {
  return text(connect(socketOf(path))).catch(() => 'unknown')
}

function socketOf(path: string): { readonly path: string } {
  return { path: `\0tieline-${createHash('sha256').update(path).digest('hex').slice(0, 32)}` }
}
