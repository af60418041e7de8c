/**
 * Reads lyrics as they are usually typed: sections with tags in brackets or none at all, one phrase per line, repeated
 * choruses written out or only named. Text that cannot be spoken is omitted.
 */
import { speakableText } from '../speech/speakable-text.ts';
import type { SectionKind } from './form.ts';

export interface LyricSection {
  readonly kind: SectionKind;
  /** As they are sung; empty: the section is instrumental. */
  readonly lines: readonly string[];
  /** Whether the tag indicates rap or speech. */
  readonly isSpoken: boolean;
}

const TAGS: readonly (readonly [words: RegExp, kind: SectionKind])[] = [
  [/pre[- ]?chorus|build|verse|strophe|rap|spoken|part/, 'verse'],
  [/chorus|hook|refrain|drop|post[- ]?chorus/, 'chorus'],
  [/bridge|middle/, 'bridge'],
  [/intro|opening/, 'intro'],
  [/outro|ending|end|coda|finale/, 'outro'],
  [/solo|instrumental|interlude/, 'solo'],
  [/break/, 'break'],
];
const BRACKETED = /^\s*[[({<]\s*([^\])}>]{1,60})\s*[\])}>]\s*:?\s*$/u;
const NAMED =
  /^\s*((?:pre[- ]?|post[- ]?)?(?:verse|chorus|bridge|hook|refrain|intro|outro|interlude)(?:\s+\d{1,2})?)\s*:?\s*$/iu;
const REPEATED = /\s*[([]?\s*(?:[x×]\s*([2-4])|([2-4])\s*[x×])\s*[)\]]?\s*$/iu;
/** Longer lines are two phrases. */
const LONGEST_LINE = 56;
/** A stanza without tags that is longer than this is two sections. */
const LONGEST_STANZA = 8;

function tagOf(line: string): string | undefined {
  const bracketed = BRACKETED.exec(line)?.[1];
  const isTag =
    bracketed !== undefined && (/^\s*[[{<]/u.test(line) || TAGS.some(([words]) => words.test(bracketed.toLowerCase())));
  return isTag ? bracketed : NAMED.exec(line)?.[1];
}

/** A line split into phrases that can be sung in one breath. */
function phrases(line: string): string[] {
  if (line.length <= LONGEST_LINE) return [line];
  const middle = line.length / 2;
  const cuts = [...line.matchAll(/[,;:.!?-]+\s+|\s+/gu)].map((match) => ({
    at: match.index + match[0].length,
    // A comma is worth a third of the line.
    cost: Math.abs(match.index - middle) - (match[0].trim() === '' ? 0 : line.length / 3),
  }));
  const best = cuts.filter(({ at }) => at < line.length).sort((one, other) => one.cost - other.cost)[0];
  if (best === undefined) return [line];
  return [...phrases(line.slice(0, best.at).trim()), ...phrases(line.slice(best.at).trim())];
}

/** A line as it is sung: speakable, without stage directions and without pauses of punctuation. */
function sungLines(line: string): string[] {
  const times = REPEATED.exec(line);
  const count = Number(times?.[1] ?? times?.[2] ?? 1);
  const words = line.replace(REPEATED, '').replace(/\[[^\]]*\]|\*[^*]*\*/gu, ' ');
  const spoken = phrases(speakableText(words).replace(/\s+/g, ' ')).map((phrase) =>
    phrase
      .replace(/["().,;:!?]+|(?<=\s)-+|-+(?=\s)/g, ' ')
      .replace(/\s+/g, ' ')
      .trim(),
  );
  const kept = spoken.filter((phrase) => /[a-z0-9]/i.test(phrase));
  return Array.from({ length: count }, () => kept).flat();
}

/** Stanzas of lyrics without tags: a repeated stanza is the chorus, otherwise every second one is. */
function stanzasOf(lines: readonly string[]): LyricSection[] {
  const stanzas: string[][] = [[]];
  for (const line of lines) {
    if (line.trim() === '') stanzas.push([]);
    else stanzas.at(-1)?.push(...sungLines(line));
  }
  const cut = stanzas
    .filter((stanza) => stanza.length > 0)
    .flatMap((stanza) => {
      if (stanza.length <= LONGEST_STANZA) return [stanza];
      const size = Math.ceil(stanza.length / Math.ceil(stanza.length / 4));
      return Array.from({ length: Math.ceil(stanza.length / size) }, (_, index) =>
        stanza.slice(index * size, (index + 1) * size),
      );
    });
  const texts = cut.map((stanza) => stanza.join('\n').toLowerCase());
  const hasRefrain = texts.some((text, index) => texts.indexOf(text) !== index);
  return cut.map((stanza, index) => {
    const isRefrain = hasRefrain ? texts.filter((text) => text === texts[index]).length > 1 : index % 2 === 1;
    const isBridge = !hasRefrain && cut.length >= 5 && index === cut.length - 2 && index % 2 === 0;
    return { kind: isRefrain ? 'chorus' : isBridge ? 'bridge' : 'verse', lines: stanza, isSpoken: false };
  });
}

/** Reads lyrics; an empty list if none of them can be sung. */
export function readLyrics(text: string): LyricSection[] {
  const lines = text
    .normalize('NFKC')
    .split(/\r\n?|\n|\u2028|\u2029/u)
    // Long runs of spaces mean nothing, and the expressions above would try every way to divide them.
    .map((line) => line.replace(/\s+/gu, ' '));
  const first = lines.findIndex((line) => tagOf(line) !== undefined);
  if (first < 0) return stanzasOf(lines);
  const sections: { kind: SectionKind; lines: string[]; isSpoken: boolean }[] = stanzasOf(lines.slice(0, first)).map(
    (section) => ({
      ...section,
      lines: [...section.lines],
    }),
  );
  for (const line of lines.slice(first)) {
    const tag = tagOf(line)?.toLowerCase();
    if (tag !== undefined) {
      const kind = TAGS.find(([words]) => words.test(tag))?.[1] ?? 'verse';
      sections.push({ kind, lines: [], isSpoken: /\b(rap|spoken|talk)/.test(tag) });
    } else {
      sections.at(-1)?.lines.push(...sungLines(line));
    }
  }
  // `[Chorus]` with nothing below it means the previous one.
  for (const [index, section] of sections.entries()) {
    if (section.lines.length > 0 || section.kind !== 'chorus') continue;
    const before = sections.slice(0, index).find((one) => one.kind === 'chorus' && one.lines.length > 0);
    if (before !== undefined) section.lines.push(...before.lines);
  }
  return sections.some((section) => section.lines.length > 0) ? sections : [];
}
