/**
 * Parses CSV as a spreadsheet does: strictly by RFC 4180, without any code of the writer. What is not allowed there
 * is an error.
 */

/** @returns the cells of each line. @throws {SyntaxError} it is not a valid file. */
export function parseCsv(text: string): readonly (readonly string[])[] {
  const lines: string[][] = [];
  let line: string[] = [];
  let position = 0;
  while (position < text.length) {
    const { cell, next } = text[position] === '"' ? quotedCell(text, position) : plainCell(text, position);
    line.push(cell);
    if (text[next] === ',') {
      position = next + 1;
      // Nothing follows the last comma of the file.
      if (position === text.length) line.push('');
    } else if (text.startsWith('\r\n', next)) {
      position = next + 2;
      lines.push(line);
      line = [];
    } else if (next === text.length) position = next;
    else throw new SyntaxError(`neither a comma nor the end of a line at ${next}`);
  }
  return line.length === 0 ? lines : [...lines, line];
}

function plainCell(text: string, start: number) {
  const plain = /[^,"\r\n]*/y;
  plain.lastIndex = start;
  const [cell] = plain.exec(text) ?? [''];
  return { cell, next: start + cell.length };
}

function quotedCell(text: string, start: number) {
  let cell = '';
  let position = start + 1;
  for (;;) {
    const quote = text.indexOf('"', position);
    if (quote === -1) throw new SyntaxError(`a quote without an end at ${start}`);
    cell += text.slice(position, quote);
    if (text[quote + 1] !== '"') return { cell, next: quote + 1 };
    cell += '"';
    position = quote + 2;
  }
}
