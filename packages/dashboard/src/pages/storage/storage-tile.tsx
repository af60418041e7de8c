/** One output in the gallery: its preview, its retention, and its checkbox. */
import { Box, Checkbox, Text } from '@mantine/core';
import { IconFile, IconMusic, IconPhotoOff } from '@tabler/icons-react';
import { memo, useState } from 'react';
import type { KeyboardEvent, MouseEvent } from 'react';
import type { StoredOutput } from '../../api/storage.ts';
import { formatBytes, formatSeconds } from '../../components/quantities.ts';
import { texts } from '../../texts/storage.ts';
import { AudioButton } from './audio-button.tsx';
import styles from './storage.module.css';

interface TileProps {
  readonly output: StoredOutput;
  readonly isSelected: boolean;
  readonly canSelect: boolean;
  /** While some are selected a press on any tile selects it too. */
  readonly isSelecting: boolean;
  readonly nowMs: number;
  readonly onToggle: (id: string, isRange: boolean) => void;
  readonly onOpen: (id: string) => void;
}

export function nameOf({ type, model }: StoredOutput): string {
  return texts.nameOf(type, model);
}

/** In words: how long it is kept, or its next state. */
export function retentionText({ status, storage_tier: tier, retainUntil }: StoredOutput, nowMs: number): string {
  if (status === 'deleted') return texts.deleted;
  if (status === 'pending') return texts.pending;
  if (tier === 'persistent') return texts.persistent;
  return texts.timeLeft(formatSeconds(Math.max(0, retainUntil - Math.floor(nowMs / 1000))));
}

export const StorageTile = memo(function StorageTile(props: TileProps) {
  const { output, isSelected, canSelect, isSelecting, onToggle, onOpen } = props;
  const name = nameOf(output);
  const press = ({ shiftKey, ctrlKey, metaKey }: MouseEvent): void => {
    if (canSelect && (isSelecting || shiftKey || ctrlKey || metaKey)) onToggle(output.id, shiftKey);
    else onOpen(output.id);
  };
  return (
    <li className={styles['tile']} {...(isSelected ? { 'data-selected': true } : {})}>
      <button
        type="button"
        className={styles['frame']}
        onClick={press}
        aria-label={isSelecting ? texts.select(name) : texts.open(name)}
        {...(isSelecting ? { 'aria-pressed': isSelected } : {})}
      >
        <Thumbnail output={output} />
      </button>
      {canSelect ? (
        <Box className={styles['check']}>
          <Checkbox
            aria-label={texts.select(`${name}, ${output.id}`)}
            data-select={output.id}
            checked={isSelected}
            onChange={({ nativeEvent }) => onToggle(output.id, isShift(nativeEvent))}
            onKeyDown={moveByArrows}
          />
        </Box>
      ) : null}
      {output.mimeType.startsWith('audio/') && output.url !== '' ? <AudioButton url={output.url} name={name} /> : null}
      <div className={styles['facts']}>
        <Text size="sm" fw={600} className={styles['line']} title={output.model}>
          {output.model}
        </Text>
        <Text size="xs" className={styles['line']}>
          {[texts.kindOf(output.type), formatBytes(output.size)].join(' · ')}
        </Text>
        <Text size="xs" className={styles['line']}>
          {retentionText(output, props.nowMs)}
        </Text>
      </div>
    </li>
  );
});

function isShift(event: Event): boolean {
  return 'shiftKey' in event && event.shiftKey === true;
}

function Thumbnail({ output: { url, mimeType } }: { readonly output: StoredOutput }) {
  const [failedUrl, setFailedUrl] = useState<string>();
  const size = 36;
  if (url === '' || url === failedUrl) return <IconPhotoOff size={size} aria-hidden />;
  const onError = (): void => setFailedUrl(url);
  if (mimeType.startsWith('image/')) return <img src={url} alt="" loading="lazy" decoding="async" onError={onError} />;
  if (mimeType.startsWith('video/')) {
    return <video src={`${url}#t=0.1`} muted playsInline preload="metadata" onError={onError} tabIndex={-1} />;
  }
  if (mimeType.startsWith('audio/')) return <IconMusic size={size} aria-hidden />;
  return <IconFile size={size} aria-hidden />;
}

/** The arrow keys move between checkboxes according to the layout of the gallery. */
function moveByArrows(event: KeyboardEvent<HTMLInputElement>): void {
  const boxes = [...document.querySelectorAll<HTMLInputElement>('input[data-select]')];
  const index = boxes.indexOf(event.currentTarget);
  const top = (box: Element): number => Math.round(box.getBoundingClientRect().top);
  const [first] = boxes;
  const perLine = first === undefined ? 1 : Math.max(1, boxes.filter((box) => top(box) === top(first)).length);
  const steps: Readonly<Record<string, number>> = {
    ArrowRight: 1,
    ArrowLeft: -1,
    ArrowDown: perLine,
    ArrowUp: -perLine,
  };
  const step = steps[event.key];
  if (step === undefined) return;
  event.preventDefault();
  boxes[index + step]?.focus();
}
