/**
 * Text in a box: broken into lines, as large as fits, shortened with an ellipsis if even the smallest size does not
 * fit.
 */
import { css } from './colour.ts';
import type { Colour } from './colour.ts';
import { faultMessage, inputFault } from '@darkroom/api/facts/input-fault';
import { UnusableInputError } from '../unusable-input-error.ts';
import { drawableText, fontOf, isLetterable } from './fonts.ts';
import type { Weight } from './fonts.ts';
import type { Context } from './stage.ts';

export interface TextBox {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

export interface LetteringStyle {
  readonly weight: Weight;
  readonly colour: Colour;
  /** Font size in logical units: the largest and the smallest. */
  readonly largest: number;
  readonly smallest: number;
  readonly align: 'left' | 'center';
  /** The vertical position of the block of lines in the box. */
  readonly anchor: 'top' | 'middle' | 'bottom';
  /** Space between letters as a share of the size. */
  readonly tracking?: number;
  readonly shadow?: Colour;
  /** A halo of light of that colour, as of a neon tube. */
  readonly halo?: Colour;
}

/** The most characters lettered from one text: more would not be readable. */
const MOST_CHARACTERS = 240;
const LINE_HEIGHT = 1.08;

/** User-perceived characters, so that breaking a long word never splits one. */
const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });

interface Layout {
  readonly size: number;
  readonly lines: readonly string[];
}

/** Breaks at spaces; a word wider than the line is broken anywhere. */
function breakLines(context: Context, text: string, width: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    const joined = line === '' ? word : `${line} ${word}`;
    if (context.measureText(joined).width <= width) {
      line = joined;
      continue;
    }
    if (line !== '') lines.push(line);
    line = '';
    for (const { segment } of graphemes.segment(word)) {
      if (line !== '' && context.measureText(line + segment).width > width) {
        lines.push(line);
        line = '';
      }
      line += segment;
    }
  }
  return line === '' ? lines : [...lines, line];
}

function useFont(context: Context, style: LetteringStyle, size: number): void {
  context.font = fontOf(style.weight, size);
  context.letterSpacing = `${(style.tracking ?? 0) * size}px`;
}

/** The largest size, by bisection, at which the text fits without breaking a word; else the smallest, shortened. */
function fit(context: Context, text: string, box: TextBox, style: LetteringStyle): Layout {
  const widest = (size: number): number => {
    useFont(context, style, size);
    return Math.max(...text.split(' ').map((word) => context.measureText(word).width));
  };
  const linesAt = (size: number): string[] => {
    useFont(context, style, size);
    return breakLines(context, text, box.width);
  };
  const isFitting = (size: number): boolean =>
    widest(size) <= box.width && linesAt(size).length * size * LINE_HEIGHT <= box.height;
  let [low, high] = [style.smallest, style.largest];
  if (isFitting(high)) return { size: high, lines: linesAt(high) };
  for (let step = 0; step < 7; step++) {
    const middle = (low + high) / 2;
    if (isFitting(middle)) low = middle;
    else high = middle;
  }
  const room = Math.max(1, Math.floor(box.height / (low * LINE_HEIGHT)));
  const lines = linesAt(low);
  if (lines.length <= room) return { size: low, lines };
  const last = lines[room - 1] ?? '';
  return {
    size: low,
    lines: [...lines.slice(0, room - 1), `${last.slice(0, Math.max(1, last.length - 2)).trimEnd()}…`],
  };
}

/**
 * Checks the texts that a prompt requests, before anything is painted.
 *
 * @throws {UnusableInputError} no letter of one of them can be drawn: the image would lack the requested text.
 */
export function requireLetterable(texts: readonly string[]): void {
  if (texts.every(isLetterable)) return;
  const fault = inputFault('unlettered', 'prompt');
  throw new UnusableInputError(faultMessage(fault), fault);
}

/**
 * Draws a text in a box.
 *
 * @returns the y below the last line, or undefined if no installed font has any character of the text.
 */
export function letter(context: Context, text: string, box: TextBox, style: LetteringStyle): number | undefined {
  const characters = [...drawableText(text)];
  const shown =
    characters.length > MOST_CHARACTERS ? `${characters.slice(0, MOST_CHARACTERS - 1).join('')}…` : characters.join('');
  if (shown === '') return undefined;
  context.save();
  const { size, lines } = fit(context, shown, box, style);
  useFont(context, style, size);
  context.textAlign = style.align;
  context.textBaseline = 'alphabetic';
  const total = lines.length * size * LINE_HEIGHT;
  const spare = box.height - total;
  const top = box.y + (style.anchor === 'top' ? 0 : style.anchor === 'middle' ? spare / 2 : spare);
  const x = style.align === 'left' ? box.x : box.x + box.width / 2;
  const draw = (dx: number, dy: number): void => {
    for (const [index, line] of lines.entries())
      context.fillText(line, x + dx, top + size * (0.86 + index * LINE_HEIGHT) + dy);
  };
  if (style.shadow !== undefined) {
    context.fillStyle = css(style.shadow, 0.32);
    draw(size * 0.035, size * 0.045);
  }
  if (style.halo !== undefined) {
    context.shadowColor = css(style.halo);
    context.shadowBlur = size * 0.5;
    context.fillStyle = css(style.halo, 0.9);
    draw(0, 0);
    draw(0, 0);
  }
  context.fillStyle = css(style.colour);
  draw(0, 0);
  context.restore();
  return top + total;
}
