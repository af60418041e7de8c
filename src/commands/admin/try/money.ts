/**
 * What the work of `models try` costs the operator, and what a client would pay for it; and the consent to what may
 * cost money.
 */
import type { ModelDefinition, Upstream } from '../../../catalogue/definition.ts';
import { finishedQuote, isByUsage } from '../../../catalogue/price.ts';
import type { Pricing, Quote } from '../../../catalogue/price.ts';
import { workCost } from '../../../catalogue/work-cost.ts';
import { formatDecimal, formatUsd } from '../../../domain/money.ts';
import { USAGE_NAMES } from '../../../domain/provider-usage.ts';
import type { Consumption, ProviderUsage } from '../../../domain/provider-usage.ts';
import type { Input } from './input.ts';
import type { Ending } from './work.ts';
import { createInterface } from 'node:readline/promises';
import { AdminError } from '../admin-error.ts';
import { printable } from './run-log.ts';

/** An amount in USD, and how it is calculated. */
interface Amount {
  readonly usd: string;
  readonly calculation: string;
}

export interface WorkMoney {
  readonly usage?: ProviderUsage;
  /** Without an amount, it is not known; `calculation` says why. */
  readonly cost: Partial<Amount> & { readonly source?: string; readonly calculation: string };
  readonly captured: Amount;
}

interface Work {
  readonly definition: ModelDefinition;
  readonly upstream: Upstream;
  /** Of the client. */
  readonly input: Input;
  /** With what a worker adds to it. */
  readonly sent: Input;
}

/** @returns undefined: the work was not accepted, or how it ended is not known. */
export function moneyOf(ending: Ending, { definition, upstream, input, sent }: Work): WorkMoney | undefined {
  if (ending.kind !== 'done' && ending.kind !== 'failed') return undefined;
  const { consumption } = ending;
  const files = ending.kind === 'done' ? ending.files.length : 0;
  const { usage, cost } = workCost(upstream.cost, sent, files, consumption);
  const calculation =
    cost === undefined
      ? whyUnknown(upstream.cost, files, consumption)
      : costCalculation(cost.source, upstream, sent, files, usage);
  return {
    ...(usage === undefined ? {} : { usage }),
    cost: { ...(cost === undefined ? {} : { usd: formatUsd(cost.microUsd), source: cost.source }), calculation },
    captured: captured(definition.pricing, input, files, usage),
  };
}

/** The lines for a terminal. */
export function moneyLines({ usage, cost, captured: paid }: WorkMoney): Readonly<Record<string, string>> {
  const because = cost.calculation === '' ? '' : `: ${cost.calculation}`;
  return {
    ...(usage === undefined ? {} : { usage: JSON.stringify(usage) }),
    cost: cost.usd === undefined ? `unknown (${cost.calculation})` : `${cost.usd} USD (${cost.source ?? ''}${because})`,
    captured: `${paid.usd} USD (${paid.calculation})`,
  };
}

/** `2 image x 0.02`, and what is applied to the product. */
export function describeQuote({ unit, minimum, rounding }: Pricing, { quantity, unitUsd, factors }: Quote): string {
  const times = factors.map(({ factor }) => ` x ${factor}`).join('');
  const least = minimum === undefined ? '' : `, at least ${minimum}`;
  const rounded = rounding === undefined ? '' : `, rounded up to ${rounding.step}`;
  return `${formatDecimal(quantity)} ${unit} x ${formatDecimal(unitUsd)}${times}${least}${rounded}`;
}

function costCalculation(
  source: string,
  { cost: { usage: rates = {}, pricing } = {} }: Upstream,
  input: Input,
  files: number,
  usage: ProviderUsage = {},
): string {
  if (source === 'usage') {
    return USAGE_NAMES.flatMap((name) => {
      const rate = rates[name];
      return rate === undefined ? [] : `${usage[name] ?? 0} ${name} x ${rate}`;
    }).join(' + ');
  }
  const rule = source === 'rule' && pricing !== undefined ? finishedQuote(pricing, input, files) : undefined;
  return rule === undefined || pricing === undefined ? '' : describeQuote(pricing, rule);
}

function whyUnknown(rule: Upstream['cost'], files: number, { usage = {} }: Consumption): string {
  const missing = USAGE_NAMES.filter((name) => rule?.usage?.[name] !== undefined && usage[name] === undefined);
  if (missing.length > 0) return `cost.usage has a rate for ${missing.join(', ')}, which was not reported`;
  if (rule?.pricing !== undefined && files === 0) return 'nothing was reported, and cost.pricing is for finished work';
  return 'no cost was reported, and cost of the upstream has nothing for it';
}

function captured(pricing: Pricing, input: Input, files: number, usage: ProviderUsage | undefined): Amount {
  const quote = finishedQuote(pricing, input, files, usage);
  if (quote === undefined) return { usd: formatUsd(0n), calculation: 'nothing for a task that fails' };
  const assumed =
    isByUsage(pricing) && usage === undefined
      ? ', because no usage was reported'
      : pricing.unit === 'second'
        ? ', if each file is as long as requested'
        : '';
  return { usd: formatUsd(quote.costMicroUsd), calculation: `${describeQuote(pricing, quote)}${assumed}` };
}

/**
 * Asks before something is sent that may cost money: prints the warning, and asks unless the answer is given.
 *
 * @param isAnswered whether `--yes` was given. @throws {AdminError} there was no consent.
 */
export async function requireAnswer(warning: string, question: string, isAnswered: boolean): Promise<void> {
  process.stderr.write(printable(`${warning}\n`));
  if (isAnswered) return;
  if (!process.stdin.isTTY) throw new AdminError('--yes: without a terminal to ask, it is needed to send');
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  // Ctrl-C and Ctrl-D.
  const left = new AbortController();
  terminal.once('SIGINT', () => left.abort()).once('close', () => left.abort());
  try {
    const answer = await terminal.question(`${question} [y/N] `, { signal: left.signal }).catch(() => '');
    if (!/^y(es)?$/i.test(answer.trim())) throw new AdminError('nothing was sent');
  } finally {
    terminal.close();
  }
}
