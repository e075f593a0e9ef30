import { test } from 'tap'
import { Fault, type FaultCode, faultCodes } from '../../schemas/fault.js'

const codes = Object.keys(faultCodes) as FaultCode[]

test('a fault carries its code, whether to retry, its detail and its cause', async (t) => {
  for (const code of codes) {
    const cause = new Error('beneath')
    const fault = new Fault(code, 'the thing', { cause })
    t.equal(fault.code, code)
    t.equal(fault.retry, faultCodes[code].retry)
    t.equal(fault.message, `${code}: the thing`)
    t.equal(fault.cause, cause)
    t.equal(fault.name, 'Fault')
    t.ok(fault instanceof Error)
  }
  t.notOk('cause' in new Fault('HEADER', 'no cause'), 'no cause is invented')
})

test('only what may pass without a change is worth a retry', async (t) => {
  t.same(codes.filter((code) => faultCodes[code].retry).sort(), [
    'ALERT_UNREACHABLE',
    'AMI_UNREACHABLE',
    'CIS_UNREACHABLE',
    'DISK_FULL',
    'FILE_AHEAD',
    'IDENTITY_UNREACHABLE',
    'MDM_UNREACHABLE',
    'NOTICE_UNREACHABLE',
    'OVERLOAD',
    'PERMISSION',
    'QUEUE_UNREACHABLE',
    'REPLICA_AWAY',
    'SOURCE_CHANGED',
    'SOURCE_IDENTITY',
    'SOURCE_LOGIN',
    'SOURCE_REFUSED',
    'SOURCE_UNREACHABLE',
    'STAGING_LOST',
    'STORE_BUSY',
    'STORE_UNREACHABLE',
    'TRACES_UNREACHABLE',
  ])
})

test('every code has a meaning of its own, in complete sentences that say what to do', async (t) => {
  const meanings = codes.map((code) => faultCodes[code].meaning)
  t.equal(new Set(meanings).size, codes.length)
  for (const code of codes) {
    t.match(code, /^[A-Z]+(_[A-Z]+)*$/)
    t.match(faultCodes[code].meaning, /^[A-Z][^\n]+[.:] .+\.$/, code)
  }
})
