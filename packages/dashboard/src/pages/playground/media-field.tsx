/**
 * A field that takes media, one or several: uploaded here, or given as a URL, and shown if the page's policy allows
 * it.
 */
import {
  ActionIcon,
  Box,
  Button,
  FileButton,
  Group,
  Image,
  Input,
  Paper,
  Stack,
  Text,
  TextInput,
  Tooltip,
} from '@mantine/core';
import { BusyButton } from '../../components/busy-button.tsx';
import { IconArrowLeft, IconArrowRight, IconLink, IconMusic, IconUpload, IconX } from '@tabler/icons-react';
import { useState } from 'react';
import type { DragEvent } from 'react';
import { useUpload } from '../../api/tasks-run.ts';
import { useMay, useSession } from '../../session/session.tsx';
import { texts } from '../../texts/playground.ts';
import type { MediaKind } from './input-data.ts';
import classes from './playground.module.css';

const { fields } = texts;

/** Contract §7 "Uploads". */
const MOST_BYTES = 100_000_000;
const ACCEPTED: Readonly<Record<MediaKind, string>> = {
  image: 'image/*',
  video: 'video/*',
  audio: 'audio/*',
  any: 'image/*,video/*,audio/*',
};

interface MediaFieldProps {
  readonly id: string;
  readonly label: string;
  readonly description?: string | undefined;
  readonly isRequired: boolean;
  readonly errors: readonly string[];
  readonly kind: MediaKind;
  /** The maximum number. */
  readonly most: number;
  readonly values: readonly string[];
  readonly onChange: (values: readonly string[]) => void;
}

export function MediaField(props: MediaFieldProps) {
  const { id, label, kind, most, values, onChange, errors } = props;
  const isFull = values.length >= most;
  return (
    <Input.Wrapper
      label={label}
      labelElement="div"
      description={props.description}
      withAsterisk={props.isRequired}
      error={errors.length === 0 ? undefined : errors.join(' ')}
    >
      <Stack gap="xs" mt={6} id={id} role="group" aria-label={label} tabIndex={-1}>
        {values.length === 0 ? null : (
          <Group gap="xs" align="stretch">
            {values.map((value, index) => (
              <Item
                key={`${index} ${value}`}
                {...{ label, kind, value, index }}
                count={values.length}
                onRemove={() => onChange(values.filter((_, each) => each !== index))}
                onMove={(by) => onChange(moved(values, index, by))}
              />
            ))}
          </Group>
        )}
        {isFull ? null : (
          <Adder {...{ label, kind }} room={most - values.length} onAdd={(added) => onChange([...values, ...added])} />
        )}
        {isFull && most > 1 ? <Text size="xs">{fields.full(most)}</Text> : null}
      </Stack>
    </Input.Wrapper>
  );
}

function moved(values: readonly string[], index: number, by: -1 | 1): readonly string[] {
  const others = values.filter((_, each) => each !== index);
  return [...others.slice(0, index + by), ...values.slice(index, index + 1), ...others.slice(index + by)];
}

function Item(props: {
  readonly label: string;
  readonly kind: MediaKind;
  readonly value: string;
  readonly index: number;
  readonly count: number;
  readonly onRemove: () => void;
  readonly onMove: (by: -1 | 1) => void;
}) {
  const { label, kind, value, index, count } = props;
  const number = index + 1;
  return (
    <Paper withBorder p={6} w={150} pos="relative">
      <Preview kind={kind} url={value} alt={fields.previewAlt(label, number)} />
      <Group gap={2} justify="center" mt={4}>
        {count > 1 ? (
          <>
            <ActionIcon
              variant="subtle"
              color="gray"
              disabled={index === 0}
              onClick={() => props.onMove(-1)}
              aria-label={fields.earlier(label, number)}
            >
              <IconArrowLeft size={16} />
            </ActionIcon>
            <ActionIcon
              variant="subtle"
              color="gray"
              disabled={number === count}
              onClick={() => props.onMove(1)}
              aria-label={fields.later(label, number)}
            >
              <IconArrowRight size={16} />
            </ActionIcon>
          </>
        ) : null}
        <Tooltip label={fields.remove} withinPortal={false}>
          <ActionIcon
            variant="subtle"
            color="gray"
            onClick={props.onRemove}
            aria-label={fields.removeItem(label, number)}
          >
            <IconX size={16} />
          </ActionIcon>
        </Tooltip>
      </Group>
    </Paper>
  );
}

/** The page's policy allows it to show media from the service itself, but not from others. */
function Preview({ kind, url, alt }: { readonly kind: MediaKind; readonly url: string; readonly alt: string }) {
  const { baseUrl } = useSession();
  const [isBroken, setBroken] = useState(false);
  const isOurs =
    url.startsWith('data:image/') || [baseUrl, window.location.origin].some((each) => originOf(each) === originOf(url));
  if (!isOurs || isBroken) {
    return (
      <Stack h={90} justify="center" align="center" gap={2} className={classes['elsewhere']}>
        <IconLink size={18} aria-hidden />
        <Text size="xs" lineClamp={2} title={url} ta="center">
          {url}
        </Text>
      </Stack>
    );
  }
  if (kind === 'audio') {
    return (
      <Stack h={90} justify="center" align="center" gap={4}>
        <IconMusic size={22} aria-hidden />
        <audio src={url} controls aria-label={alt} onError={() => setBroken(true)} className={classes['audio']} />
      </Stack>
    );
  }
  if (kind === 'video')
    return (
      <video
        src={url}
        muted
        playsInline
        controls
        aria-label={alt}
        onError={() => setBroken(true)}
        className={classes['video']}
      />
    );
  return <Image src={url} alt={alt} h={90} fit="contain" onError={() => setBroken(true)} />;
}

function originOf(url: string): string | undefined {
  return URL.canParse(url) ? new URL(url).origin : undefined;
}

function Adder({
  label,
  kind,
  room,
  onAdd,
}: {
  readonly label: string;
  readonly kind: MediaKind;
  readonly room: number;
  readonly onAdd: (urls: readonly string[]) => void;
}) {
  const mayUpload = useMay('storage:write');
  const upload = useUpload();
  const [uploadError, setUploadError] = useState<string>();
  const [isOver, setOver] = useState(false);
  const [url, setUrl] = useState('');
  const take = async (files: readonly File[]): Promise<void> => {
    setUploadError(undefined);
    const chosen = files.slice(0, room);
    if (chosen.some(({ size }) => size > MOST_BYTES)) {
      setUploadError(fields.tooLarge);
      return;
    }
    try {
      const uploaded = [];
      for (const file of chosen) uploaded.push((await upload.mutateAsync(file)).url);
      onAdd(uploaded);
    } catch (error) {
      setUploadError(fields.uploadFailed(error instanceof Error ? error.message : String(error)));
    }
  };
  const drop = (event: DragEvent): void => {
    event.preventDefault();
    setOver(false);
    if (mayUpload) void take([...event.dataTransfer.files]);
  };
  const addUrl = (): void => {
    if (url.trim() === '') return;
    onAdd([url.trim()]);
    setUrl('');
  };
  return (
    <Box
      className={classes['drop']}
      data-over={isOver || undefined}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={drop}
    >
      {mayUpload ? (
        <Group gap="xs" mb="xs">
          <FileButton
            accept={ACCEPTED[kind]}
            multiple={room > 1}
            onChange={(chosen: File | File[] | null) => void take([chosen ?? []].flat())}
          >
            {(buttonProps) => (
              <BusyButton
                {...buttonProps}
                size="xs"
                variant="default"
                leftSection={<IconUpload size={14} aria-hidden />}
                isBusy={upload.isPending}
              >
                {fields.upload}
              </BusyButton>
            )}
          </FileButton>
          <Text size="sm">{fields.drop}</Text>
        </Group>
      ) : (
        <Text size="sm" mb="xs">
          {fields.noUpload}
        </Text>
      )}
      <Group gap="xs" wrap="nowrap">
        <TextInput
          size="xs"
          flex={1}
          type="url"
          aria-label={fields.urlOf(label)}
          placeholder={fields.urlPlaceholder}
          value={url}
          onChange={({ currentTarget }) => setUrl(currentTarget.value)}
          onBlur={addUrl}
          onKeyDown={(event) => {
            if (event.key !== 'Enter') return;
            event.preventDefault();
            addUrl();
          }}
        />
        <Button size="xs" variant="default" onClick={addUrl} disabled={url.trim() === ''}>
          {fields.addUrl}
        </Button>
      </Group>
      <Text size="sm" c="var(--mantine-color-error)" role="status">
        {uploadError}
      </Text>
    </Box>
  );
}
