import t from 'tap'
import { listedShapes, readPage, renderStatements } from './page.js'
import { shapeOf } from './shape.js'
import { verdictOf } from './verdicts.js'

t.test('a statement is known by what it does and to which tables', async (t) => {
  const texts = {
    'SELECT 1': 'SELECT',
    "SELECT a FROM usage_read WHERE x IN (SELECT 'FROM y' FROM file_state FINAL)":
      'SELECT FROM file_state FINAL, usage_read',
    'WITH own AS (SELECT 1 FROM arrival AS a) SELECT * FROM own': 'SELECT FROM arrival',
    "INSERT INTO `staging_12_read` (a) SELECT a FROM file('x', 'LineAsString')":
      'INSERT INTO staging_*_read',
    "SELECT text FROM merge(currentDatabase(), '^staging_12_(read|repeat)$')":
      'SELECT FROM staging_*_read, staging_*_repeat',
    'INSERT INTO restatement SELECT 1 FROM `staging_12_final_99` AS f':
      'INSERT INTO restatement FROM staging_*_final',
    'CREATE TABLE IF NOT EXISTS `staging_3_held` (x String) ENGINE = MergeTree ORDER BY x':
      'CREATE TABLE staging_*_held',
    'DROP TABLE IF EXISTS staging_3_held SYNC': 'DROP staging_*_held',
    'ALTER TABLE `usage_read` ATTACH PARTITION tuple() FROM `staging_7_read`':
      'ALTER TABLE usage_read ATTACH PARTITION FROM staging_*_read',
    'ALTER TABLE tenancy UPDATE a = 1 WHERE b = 2': 'ALTER TABLE tenancy UPDATE',
    'DELETE FROM reject WHERE arrival = 1': 'DELETE FROM reject',
    'SYSTEM SYNC REPLICA `arrival` LIGHTWEIGHT': 'SYSTEM SYNC REPLICA',
    '{"a":1}': undefined,
  }
  for (const [text, shape] of Object.entries(texts)) t.equal(shapeOf(text), shape, text)
})

t.test(
  'every statement of the page has one verdict, and nothing is written there by hand',
  async (t) => {
    const shapes = listedShapes()
    t.ok(shapes.length > 100, `${shapes.length} statements`)
    t.equal(readPage(), renderStatements(shapes))
  },
)

t.test('a statement that nobody has judged has no verdict', async (t) => {
  t.throws(() => verdictOf('INSERT INTO new_table'), /0 verdicts/)
  t.throws(() => verdictOf('OPTIMIZE usage_read'), /0 verdicts/)
  t.throws(() => verdictOf('ALTER TABLE usage_read MODIFY SETTING'), /0 verdicts/)
})
