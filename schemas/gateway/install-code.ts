/** Bytes of an install code without its check, as ZigBee knows them. */
const codeBytes = [6, 8, 12, 16] as const
const checkBytes = 2

export type InstallCodeVerdict = 'good' | 'badForm' | 'badCheck'

/**
 * Judges the install code of a hub: hexadecimal, 6, 8, 12 or 16 bytes and behind them their
 * CRC-16/X-25, low byte first (decision 10; ZigBee Smart Energy, section 5.4.8.1.1).
 */
export function judgeInstallCode(text: string): InstallCodeVerdict {
  const isHex = /^([0-9A-Fa-f]{2})+$/.test(text)
  const bytes = Buffer.from(isHex ? text : '', 'hex')
  const length = bytes.length - checkBytes
  if (!(codeBytes as readonly number[]).includes(length)) return 'badForm'
  return bytes.readUInt16LE(length) === crc16(bytes.subarray(0, length)) ? 'good' : 'badCheck'
}

/** CRC-16/X-25: polynomial 0x1021 reflected, begun with and xored with 0xFFFF; "123456789" gives 0x906E. */
export function crc16(bytes: Uint8Array): number {
  let crc = 0xff_ff
  for (const byte of bytes) {
    crc ^= byte
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0x84_08 : crc >>> 1
  }
  return crc ^ 0xff_ff
}
