/** Saves all pages of the filtered ledger as a file, and shows the progress. */
import { Button, Group, Text } from '@mantine/core';
import { IconDownload } from '@tabler/icons-react';
import { useEffect, useRef, useState } from 'react';
import { readLedger } from '../../api/usage.ts';
import type { LedgerFilter } from '../../api/usage.ts';
import { saveFile } from '../../components/save-file.ts';
import { notify, notifyError } from '../../components/notify.ts';
import { texts } from '../../texts/usage.ts';
import { csvHead, csvLine } from './csv.ts';
import { dayAt } from './days.ts';

const { csv: words } = texts;

export function CsvExport({ filter, isDisabled }: { readonly filter: LedgerFilter; readonly isDisabled: boolean }) {
  const [progress, setProgress] = useState<string>();
  const running = useRef<AbortController>(undefined);
  // If the user leaves the page, the export is cancelled.
  useEffect(() => () => running.current?.abort(), []);

  const save = async (): Promise<void> => {
    const controller = new AbortController();
    running.current = controller;
    const { signal } = controller;
    const lines = [csvHead()];
    setProgress(words.progress(0));
    try {
      const pages = readLedger(filter, {
        signal,
        onWait: (seconds, isLimit) => setProgress(isLimit ? words.rateLimited(seconds) : words.retrying(seconds)),
      });
      for await (const entries of pages) {
        lines.push(...entries.map(csvLine));
        setProgress(words.progress(lines.length - 1));
      }
      signal.throwIfAborted();
      saveFile(new Blob(lines, { type: 'text/csv;charset=utf-8' }), words.fileName(dayAt(Date.now())));
      notify(words.done(lines.length - 1));
    } catch (error) {
      if (signal.aborted) notify(words.stopped);
      else {
        const message = error instanceof Error ? error.message : String(error);
        notifyError({ title: words.failed, message, isLong: true });
      }
    } finally {
      setProgress(undefined);
    }
  };
  return (
    <Group gap="xs">
      <Text size="sm" role="status">
        {progress}
      </Text>
      {progress === undefined ? (
        <Button
          variant="default"
          size="xs"
          leftSection={<IconDownload size={16} aria-hidden />}
          disabled={isDisabled}
          onClick={() => void save()}
        >
          {words.start}
        </Button>
      ) : (
        <Button variant="default" size="xs" onClick={() => running.current?.abort()}>
          {words.cancel}
        </Button>
      )}
    </Group>
  );
}
