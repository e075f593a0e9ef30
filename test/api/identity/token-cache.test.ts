import { t } from 'tap'
import { createTokenCache } from '../../../api/identity/token-cache.js'

const end = 'the same end of 16'

t.test('tokens that end alike are distinguished', (t) => {
  const cache = createTokenCache<number>(10)
  cache.set(`a${end}`, 1)
  t.equal(cache.get(`a${end}`), 1)
  t.equal(cache.get(`b${end}`), undefined)
  cache.set(`b${end}`, 2)
  for (const [token, value] of [`a${end}`, `b${end}`, `a${end}`].map((one, at) => [
    one,
    (at % 2) + 1,
  ]))
    t.equal(cache.get(String(token)), value)
  t.end()
})

t.test('what is set again or deleted is not remembered as it was', (t) => {
  const cache = createTokenCache<number>(10)
  cache.set(end, 1)
  t.equal(cache.get(end), 1)
  t.equal(cache.get(end), 1)
  cache.set(end, 2)
  t.equal(cache.get(end), 2)
  cache.delete(end)
  t.equal(cache.get(end), undefined)
  t.end()
})

t.test('the memory is bounded, and what is used survives', (t) => {
  const cache = createTokenCache<number>(100)
  cache.set('used', 1)
  for (let at = 0; at < 1_000; at++) {
    cache.set(`once ${at}`, at)
    if (at % 10 === 0) t.equal(cache.get('used'), 1)
  }
  t.equal(cache.get('once 10'), undefined)
  t.equal(cache.get('once 999'), 999)
  t.equal(createTokenCache<number>(0).get('used'), undefined)
  t.end()
})
