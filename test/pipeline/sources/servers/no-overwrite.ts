import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { type AddressInfo, createConnection, createServer } from 'node:net'
import { createInterface } from 'node:readline'

/**
 * Stands before an FTP server of this machine and lets nothing be put over a file that is there, as ProFTPD
 * does by default (`AllowOverwrite off`). Data connections lead to the server itself.
 */
export async function createNoOverwrite(target: { readonly host: string; readonly port: number }) {
  const server = createServer((near) => {
    const far = createConnection(target)
    far.pipe(near)
    for (const socket of [near, far]) {
      socket.on('error', () => undefined)
      socket.on('close', () => [near, far].map((one) => one.destroy()))
    }
    createInterface({ input: near }).on('line', (line) => {
      const [, path] = /^(?:STOR|RNTO) (.*)$/.exec(line) ?? []
      if (path !== undefined && existsSync(path)) near.write('550 Overwrite permission denied\r\n')
      else far.write(`${line}\r\n`)
    })
  })
  server.listen(0, target.host)
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    close: () => server.close(),
  }
}
