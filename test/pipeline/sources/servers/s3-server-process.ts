import { startFauxqs } from 'fauxqs'

const server = await startFauxqs({ port: 0, logger: false, host: '127.0.0.1' })
process.send?.(server.port)
process.on('disconnect', () => process.exit(0))
