/** A recorded image: decoded off the page once it is wanted, drawn as pixels; what is elsewhere is never fetched. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { Bytes } from '../../../parts/figure.tsx';
import { Icon } from '../../../parts/icon.tsx';
import { Recorded } from '../../../parts/recorded.tsx';
import type { ShownBlock } from './blocks.ts';
import { base64Bytes, type ImageFacts, imageFacts } from './image-bytes.ts';
import './image-block.css';

const LARGEST = 1_600; // pixels of a side that is drawn
const SHOWN = 12 * 1024 * 1024; // characters of base64 that are shown without being asked for

type ImageProps = { block: Extract<ShownBlock, { kind: 'image' }>; whole: boolean };

export function ImageBlock({ block, whole }: ImageProps) {
  const { base64, url } = block;
  if (url !== '')
    return (
      <p class="image-block" data-image="elsewhere">
        <Icon name="image" /> An image that is elsewhere and was not recorded: <Recorded text={url.slice(0, 2_000)} />
      </p>
    );
  if (!whole) return <p class="image-block muted">An image, on its way …</p>;
  return <Decoded base64={base64} type={block.type} />;
}

function Decoded({ base64, type }: { base64: string; type: string }) {
  const [wanted, setWanted] = useState(base64.length <= SHOWN);
  const [read, setRead] = useState<{ facts: ImageFacts; bytes: number; picture: ImageBitmap } | string | null>(null);
  useEffect(() => {
    if (!wanted) return;
    let gone = false;
    decoded(base64).then(
      (result) => !gone && setRead(result),
      () => !gone && setRead('damaged'),
    );
    return () => {
      gone = true;
    };
  }, [base64, wanted]);
  if (!wanted)
    return (
      <button type="button" class="image-block" onClick={() => setWanted(true)}>
        <Icon name="image" /> Show an image of <Bytes count={Math.round(base64.length * 0.75)} />
      </button>
    );
  if (read === null) return <p class="image-block muted">An image, being decoded …</p>;
  if (typeof read === 'string')
    return (
      <p class="image-block" data-image="refused">
        <Icon name="image" /> An image that is not shown: {read} (<Recorded text={type || 'no type given'} />,{' '}
        <Bytes count={Math.round(base64.length * 0.75)} />)
      </p>
    );
  return <Picture {...read} />;
}

function Picture({ facts, bytes, picture }: { facts: ImageFacts; bytes: number; picture: ImageBitmap }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const words = `${facts.width}×${facts.height}`;
  useEffect(() => {
    canvas.current?.getContext('2d')?.drawImage(picture, 0, 0);
  }, [picture]);
  return (
    <figure class="image-block" data-image={words}>
      <canvas ref={canvas} width={picture.width} height={picture.height} role="img" aria-label={`Image, ${words}`} />
      <figcaption>
        image {words}, {facts.type.slice(6)}, <Bytes count={bytes} />
      </figcaption>
    </figure>
  );
}

async function decoded(base64: string) {
  const bytes = base64Bytes(base64);
  if (bytes === null) return 'its bytes are no base64';
  const facts = imageFacts(bytes);
  if (typeof facts === 'string') return facts;
  const scale = Math.min(1, LARGEST / Math.max(facts.width, facts.height));
  const picture = await createImageBitmap(new Blob([bytes], { type: facts.type }), {
    resizeWidth: Math.max(1, Math.round(facts.width * scale)),
    resizeHeight: Math.max(1, Math.round(facts.height * scale)),
  });
  return { facts, bytes: bytes.length, picture };
}
