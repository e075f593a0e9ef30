import fc from 'fast-check'
import { test } from 'tap'
import { crc16, judgeInstallCode } from '../../../schemas/gateway/install-code.js'
import { sampled } from '../sampled.js'

test('the check is CRC-16/X-25, low byte first', async (t) => {
  t.equal(crc16(Buffer.from('123456789')), 0x90_6e, "the catalogue's check value")
  t.equal(judgeInstallCode('83FED3407A939723A5C639B26916D505C3B5'), 'good', "ZigBee's example")
  t.equal(judgeInstallCode('83fed3407a939723a5c639b26916d505c3b5'), 'good')
  t.equal(judgeInstallCode('83FED3407A939723A5C639B26916D505B5C3'), 'badCheck')
  for (const text of ['', '83', '83F', 'zz'.repeat(18), '00'.repeat(9), '00'.repeat(19), ' 83FE']) {
    t.equal(judgeInstallCode(text), 'badForm', text)
  }
})

test('a code with its check is good, and no digit of it can be mistaken', async (t) => {
  const bytes = fc
    .constantFrom(6, 8, 12, 16)
    .chain((length) => fc.uint8Array({ minLength: length, maxLength: length }))
  sampled(
    t,
    fc.property(bytes, fc.nat(), fc.integer({ min: 1, max: 15 }), (code, place, change) => {
      const check = Buffer.alloc(2)
      check.writeUInt16LE(crc16(code))
      const text = Buffer.concat([code, check]).toString('hex')
      const at = place % text.length
      const digit = (Number.parseInt(text[at] ?? '0', 16) ^ change).toString(16)
      const mistaken = text.slice(0, at) + digit + text.slice(at + 1)
      return judgeInstallCode(text) === 'good' && judgeInstallCode(mistaken) === 'badCheck'
    }),
  )
})
