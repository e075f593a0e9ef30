import fc from 'fast-check'
import t from 'tap'
import { bind, id, join, literal, sql, statementOf, typed } from '../../../pipeline/store/sql.js'

t.test('a value never becomes text of the statement', async (t) => {
  fc.assert(
    fc.property(fc.string(), fc.string(), (first, second) => {
      const inner = sql`name = ${second}`
      const { text, parameters } = bind(sql`SELECT 1 WHERE path = ${first} AND (${inner})`)
      t.equal(text, 'SELECT 1 WHERE path = {p0:String} AND (name = {p1:String})')
      t.same(parameters, { p0: first, p1: second })
    }),
  )
})

t.test('the type of a value follows from the value', async (t) => {
  const typeFor = (value: Parameters<typeof sql>[1]) => bind(sql`${value as string}`).text
  t.equal(typeFor('x'), '{p0:String}')
  t.equal(typeFor(-5), '{p0:Int64}')
  t.equal(typeFor(0.5), '{p0:Float64}')
  t.equal(typeFor(2n ** 63n), '{p0:UInt64}')
  t.equal(typeFor(-1n), '{p0:Int64}')
  t.equal(typeFor(true), '{p0:Bool}')
  t.equal(typeFor(new Date(0)), "{p0:DateTime64(3, 'UTC')}")
  t.equal(typeFor(['a']), '{p0:Array(String)}')
  t.equal(bind(sql`${typed('Decimal(18, 6)', '0.1')}`).text, '{p0:Decimal(18, 6)}')
})

t.test('a number that would be rounded is refused, and so is what has no type', async (t) => {
  t.throws(() => sql`${2 ** 60}`, /cannot be bound exactly/)
  t.throws(() => sql`${Number.NaN}`, /cannot be bound exactly/)
  t.throws(() => sql`${undefined as unknown as string}`, /sql binds strings/)
  t.throws(() => sql`${[1] as unknown as string[]}`, /sql binds strings/)
  t.throws(() => literal(Number.POSITIVE_INFINITY), /not a SQL literal/)
})

t.test('identifiers and literals cannot end their quotes', async (t) => {
  t.equal(bind(id('a`; DROP TABLE x')).text, '`a\\`; DROP TABLE x`')
  t.equal(bind(id('db', 'reads_1')).text, '`db`.`reads_1`')
  t.equal(bind(literal("o'clock\\")).text, "'o\\'clock\\\\'")
  t.equal(bind(literal([1, 2n, 'x', true])).text, "[1,2,'x',true]")
})

t.test('fragments join with their parameters in order', async (t) => {
  const where = join([sql`a = ${'x'}`, sql`b = ${'y'}`], sql` AND `)
  t.same(bind(sql`SELECT * FROM ${id('t')} WHERE ${where} LIMIT ${literal(3)}`), {
    text: 'SELECT * FROM `t` WHERE a = {p0:String} AND b = {p1:String} LIMIT 3',
    parameters: { p0: 'x', p1: 'y' },
  })
  t.same(bind(join([], sql`, `)).text, '')
  t.equal(bind(statementOf('SELECT {x:String}')).text, 'SELECT {x:String}')
})
