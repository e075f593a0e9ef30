import {
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  PutObjectCommand,
  type S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3'

/** What a part of an object must have at least, but the last. */
export const partBytes = 5_242_880

interface At {
  readonly Bucket: string
  readonly Key: string
}

/** Puts an object, in parts where it is larger than one. */
export async function putObject(client: S3Client, at: At, content: Buffer): Promise<void> {
  if (content.length <= partBytes) {
    await client.send(new PutObjectCommand({ ...at, Body: content }))
    return
  }
  const { UploadId } = await client.send(new CreateMultipartUploadCommand(at))
  const Parts: { ETag: string; PartNumber: number }[] = []
  for (let from = 0; from < content.length; from += partBytes) {
    const Body = content.subarray(from, from + partBytes)
    const part = { ...at, UploadId, PartNumber: Parts.length + 1 }
    const { ETag = '' } = await client.send(new UploadPartCommand({ ...part, Body }))
    Parts.push({ ETag, PartNumber: part.PartNumber })
  }
  const MultipartUpload = { Parts }
  await client.send(new CompleteMultipartUploadCommand({ ...at, UploadId, MultipartUpload }))
}
