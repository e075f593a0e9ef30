import { BlockList, isIP } from 'node:net'
import { Fault } from '../../schemas/fault.js'

/** Whether a socket's address may connect. An empty list allows every address. */
export type Allow = (address: string) => boolean

/** Throws `PROFILE` for an invalid range. */
export function createAllow(ranges: readonly string[]): Allow {
  if (ranges.length === 0) return () => true
  const list = new BlockList()
  for (const range of ranges) addRange(list, range)
  return (address) => {
    const plain = address.replace(/^::ffff:(?=\d+\.)/, '')
    const family = isIP(plain)
    return family !== 0 && list.check(plain, family === 4 ? 'ipv4' : 'ipv6')
  }
}

function addRange(list: BlockList, range: string): void {
  const [address = '', bits] = range.split('/')
  const family = isIP(address)
  const widest = family === 4 ? 32 : 128
  const prefix = bits === undefined ? widest : Number(bits)
  if (family === 0 || prefix > widest) {
    throw new Fault('PROFILE', `gateway allow: ${range} is not an address or CIDR range`)
  }
  list.addSubnet(address, prefix, family === 4 ? 'ipv4' : 'ipv6')
}
