/** Words without accents and marks: `MeterID` is `meter id`, `Zählpunkt-Nr.` is `zahlpunkt nr`. */
export function toWord(name: string): string {
  const apart = name.replace(/(\p{Ll}{2})(\p{Lu})/gu, '$1 $2')
  const plain = apart.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase()
  return plain
    .replace(/ø/g, 'o')
    .replace(/æ/g, 'ae')
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim()
}

/** Words in names of columns, as `toWord` writes them, by what the column holds. */
export const columnWords = {
  meter:
    /meter|device|serial|\bnmi\b|\bmpan\b|\bmprn\b|\bmpxn\b|esiid|\besi\b|\bpod\b|\bcups\b|\bean\b|zae?hl(punkt|er)|messlokation|marktlokation|m(a|aa)lepunkt|matpunkt|(usage|service|supply|delivery) ?point|\bsdp\b|lclid|dataid|compteur|\bprm\b|\bpdl\b|contador|contatore|\bicp\b|kayttopaikka/,
  account: /account|contract|customer|kunde|konto|vertrag|cliente|client/,
  site: /\bsite\b|premise|location|\blokation/,
  start: /\b(start|from|begin|beginning|inicio|debut|von|van|ab|fra|inizio|hb|desde)\b/,
  /** Names of columns that number the intervals of a day. */
  intervalNumber:
    /\b(he|hb|hour|hours|hora|heure|stunde|time|kvart|uur|periodo?|period|interval|sp|tp)\b/,
  end: /\b(end|ending|to|til|till|until|bis|fin|fine|hasta|tot|he)\b/,
  /** Times of something else than the interval. */
  otherTime:
    /revision|created|export|insert|load(ed)?\b|updated|received|processed|extract|effective/,
  /** Names that are a quantity of an interval, whatever else the file has. */
  energy: /\b[km]?wh\b|\bccf\b|\bmcf\b|therm|\bm3\b|consum|\busage\b|verbrauch/,
  /** Names that may be one. */
  amount:
    /energ|quantity|total ?unit|menge|m(a|ae)ngd|volume|\bvalue\b|\bwert\b|\bvalor\b|interval data|\bread(ing)?\b|\bunits?\b/,
  /** Energy of the other direction. */
  otherWay: /export|generation|received|returned|surplus|vertida|einspeis|teruglever|production/,
  otherNumber:
    /cost|price|amount|charge|\beur\b|\busd\b|temp|demand|kva|volt|\bamps?\b|power factor|reactive|latitude|longitude|\bline\b|\brow\b|sequence|interval (number|length)|\bduration\b|multiplier|\btariff\b/,
  /** Factors of the quantities of a meter. */
  multiplier: /multipli|wandlerfaktor|impulswert|\bct ratio\b|\bpulse (weight|constant)\b/,
  power: /\bk?w\b|power|leistung|puissance/,
  direction:
    /direction|\bflow\b|richtung|channel|register|surplus|delivered|received|\btype\b|\bobis\b|consumption generation|grandeur metier|energierichting/,
  quality: /quality|status|flag|estimated|metodo|method|validation|condition|\bcode\b|kvalitet/,
  /** Names that are a quality, whatever their texts are. */
  surelyQuality: /quality|estimated|validation|metodo|method|kvalitet/,
  /** Codes of something else. */
  otherCode: /rate|tariff|zip|post(al)?\b|country|currency|error|unit|commodity|company/,
  unit: /\bunits?\b|\buom\b|einheit|eenheid|unidad|enhed|enhet|unite|unita/,
} as const

/** Texts that mean energy from the customer to the grid, and those of the other way; OBIS codes say it, too. */
export const generationTexts =
  /^(out|export(ed)?|received|generation|generated|prod(uction)?|reverse|feed[ -]?in|einspeisung|lieferung|surplus|r|b1|return(ed)?|delivered to grid|injecti(e|on)( (dag|nacht))?|teruglevering|\d-\d{1,2}:2\.\d+(\.\d+)*)$/i
export const consumptionTexts =
  /^(in|import(ed)?|delivered|cons(o|ommation|umption|umed)?|forward|bezug|usage|c|d|e1|net|total|afname( (dag|nacht))?|soutirage|\d-\d{1,2}:1\.\d+(\.\d+)*)$/i

/** Units as systems write them: the unit of the profile, and what a quantity is multiplied by. */
export const unitTexts: Readonly<Record<string, readonly [unit: string, multiplier: number]>> = {
  kwh: ['kWh', 1],
  wh: ['Wh', 1],
  mwh: ['MWh', 1],
  ccf: ['ccf', 1],
  cf: ['ccf', 0.01],
  mcf: ['ccf', 10],
  m3: ['cm', 1],
  cm: ['cm', 1],
  cbm: ['cm', 1],
  therm: ['therm', 1],
  therms: ['therm', 1],
  thm: ['therm', 1],
  dth: ['therm', 10],
}
