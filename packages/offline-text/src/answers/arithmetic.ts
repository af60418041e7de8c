/** Simple arithmetic: "17 * 3", "12 plus 30", "add 3 to your last answer", "15% of 80". */

const NUMBER = String.raw`\d[\d,]{0,15}(?:\.\d{1,10})?`;
const EXPRESSION = new RegExp(
  String.raw`[-(]{0,4}${NUMBER}\){0,3}(?:\s{0,3}(?:\*\*|[-+*/^])\s{0,3}[-(]{0,4}${NUMBER}\){0,3}){1,40}`,
);
/** Dates and ranges look like this, and are not calculations. */
const DATE_OR_RANGE = /^[\d,]+(?:[-/][\d,]+)+$/;
const CALCULATING = /\b(?:what(?:'s|’s| is)|calculate|compute|evaluate|how much|work out|solve)\b|=/i;

const OPERAND = String.raw`(-?${NUMBER}|(?:(?:your|the|that|my) )?(?:last |previous )?(?:answer|result|number|one)|it|that)`;
const COMMAND = new RegExp(
  String.raw`\b(add|subtract|multiply|divide) ${OPERAND} (to|from|and|by|with) ${OPERAND}`,
  'i',
);
const NAMED = new RegExp(
  String.raw`\b(sum|product|difference|quotient) (?:of|between) (-?${NUMBER}) and (-?${NUMBER})`,
  'i',
);

export interface Calculation {
  /** The calculation, e.g. `17 * 3`. */
  readonly expression: string;
  readonly value: string;
}

/** @param lastAnswer what "your last answer" means. @returns undefined: there is nothing to calculate. */
export function calculate(excerpt: string, lastAnswer: string | undefined): Calculation | undefined {
  const expression = readCommand(excerpt, lastAnswer) ?? readNamed(excerpt) ?? readExpression(excerpt);
  if (expression === undefined) return undefined;
  const value = evaluate(expression);
  return value === undefined ? undefined : { expression, value };
}

function readCommand(excerpt: string, lastAnswer: string | undefined): string | undefined {
  const [, verb = '', left = '', preposition = '', right = ''] = COMMAND.exec(excerpt) ?? [];
  const last = /-?\d[\d,]{0,15}(?:\.\d{1,10})?(?!.*\d)/s.exec((lastAnswer ?? '').slice(-200))?.[0];
  const [first, second] = [left, right].map((operand) => (/\d/.test(operand) ? operand : last));
  if (first === undefined || second === undefined || verb === '') return undefined;
  const sign = { add: '+', subtract: '-', multiply: '*', divide: '/' }[verb.toLowerCase()] ?? '+';
  return preposition.toLowerCase() === 'from' ? `${second} ${sign} ${first}` : `${first} ${sign} ${second}`;
}

function readNamed(excerpt: string): string | undefined {
  const [, name = '', left, right] = NAMED.exec(excerpt) ?? [];
  const sign = { sum: '+', product: '*', difference: '-', quotient: '/' }[name.toLowerCase()];
  return sign === undefined ? undefined : `${left} ${sign} ${right}`;
}

function readExpression(excerpt: string): string | undefined {
  const text = excerpt
    .replaceAll(/(\d) ?% of (?=\d)/gi, '$1 / 100 * ')
    .replaceAll(/ (?:plus|and then add) (?=[\d(-])/gi, ' + ')
    .replaceAll(/ minus (?=[\d(-])/gi, ' - ')
    .replaceAll(/ (?:times|multiplied by) (?=[\d(-])/gi, ' * ')
    .replaceAll(/ divided by (?=[\d(-])/gi, ' / ')
    .replaceAll(/(\d ?)[x×·](?= ?\d)/g, '$1*')
    .replaceAll(/(\d ?)÷(?= ?\d)/g, '$1/')
    .replaceAll('−', '-');
  const found = EXPRESSION.exec(text)?.[0];
  if (found === undefined) return undefined;
  return DATE_OR_RANGE.test(found) && !CALCULATING.test(text) ? undefined : found;
}

/** The value of an expression; undefined: it has none, or none that is exact enough. */
function evaluate(expression: string): string | undefined {
  const tokens = expression.replaceAll(',', '').match(/\d+(?:\.\d+)?|\*\*|[-+*/^()]/g) ?? [];
  let index = 0;
  const take = (...signs: readonly string[]): string | undefined => {
    const token = tokens[index];
    if (token === undefined || !signs.includes(token)) return undefined;
    index += 1;
    return token;
  };
  const sum = (): number => {
    let value = product();
    for (let sign = take('+', '-'); sign !== undefined; sign = take('+', '-'))
      value += sign === '+' ? product() : -product();
    return value;
  };
  const product = (): number => {
    let value = power();
    for (let sign = take('*', '/'); sign !== undefined; sign = take('*', '/'))
      value = sign === '*' ? value * power() : value / power();
    return value;
  };
  const power = (): number => {
    if (take('-') !== undefined) return -power();
    const base = atom();
    return take('**', '^') === undefined ? base : base ** power();
  };
  const atom = (): number => {
    if (take('(') === undefined) return Number(tokens[index++] ?? Number.NaN);
    const value = sum();
    return take(')') === undefined ? Number.NaN : value;
  };
  const value = sum();
  if (index !== tokens.length || !Number.isFinite(value) || Math.abs(value) > Number.MAX_SAFE_INTEGER) return undefined;
  return String(Number.isInteger(value) ? value : Number(value.toPrecision(12)));
}
