"""kornia: images augmented with their masks, boxes and points, filters, colours, geometry, features, losses, a registration."""

import kornia
import torch
from kornia import augmentation, enhance, feature, filters, geometry, losses

torch.manual_seed(0)
images = torch.rand(2, 3, 32, 32)


def show(name: str, *results: torch.Tensor) -> None:
    print(name, [tuple(r.shape) for r in results], [r.double().sum().item() for r in results])


pipeline = augmentation.AugmentationSequential(
    augmentation.RandomHorizontalFlip(p=0.5),
    augmentation.RandomAffine(15.0, translate=(0.1, 0.1), p=1.0),
    augmentation.ColorJitter(0.1, 0.1, 0.1, 0.1, p=1.0),
    augmentation.RandomErasing(p=0.5),
    augmentation.RandomGaussianBlur((3, 3), (0.1, 2.0), p=1.0),
    augmentation.Normalize(torch.tensor([0.5] * 3), torch.tensor([0.5] * 3)),
    data_keys=["input", "mask", "bbox_xyxy", "keypoints"],
)
masks = (images[:, :1] > 0.5).float()
boxes = torch.tensor([[[4.0, 5.0, 12.0, 20.0]], [[1.0, 2.0, 30.0, 9.0]]])
points = torch.rand(2, 4, 2) * 31
for seed in range(3):
    torch.manual_seed(seed)
    show("augmented", *pipeline(images, masks, boxes, points))

for transform in (
    augmentation.RandomResizedCrop((16, 16)),
    augmentation.RandomPerspective(0.5, p=1.0),
    augmentation.RandomElasticTransform(p=1.0),
    augmentation.RandomCrop((20, 20)),
    augmentation.RandomThinPlateSpline(p=1.0),
    augmentation.RandomMotionBlur(3, 35.0, 0.5, p=1.0),
    augmentation.RandomPosterize(p=1.0),
    augmentation.RandomSharpness(0.5, p=1.0),
    augmentation.RandomEqualize(p=1.0),
    augmentation.RandomJigsaw((2, 2), p=1.0),
):
    torch.manual_seed(5)
    show(type(transform).__name__, transform(images))

show(
    "filters",
    filters.gaussian_blur2d(images, (5, 5), (1.5, 1.5)),
    filters.sobel(images),
    filters.laplacian(images, 3),
    filters.median_blur(images, (3, 3)),
    filters.bilateral_blur(images, (3, 3), 0.1, (1.0, 1.0)),
    filters.canny(images)[0],
)
show("colours", kornia.color.rgb_to_lab(images), kornia.color.rgb_to_hsv(images), kornia.color.rgb_to_ycbcr(images))
show("enhance", enhance.equalize_clahe(images), enhance.adjust_gamma(images, 1.5), enhance.equalize(images))
show(
    "morphology",
    kornia.morphology.dilation(images, torch.ones(3, 3)),
    kornia.morphology.opening(images, torch.ones(3, 3)),
)

rotation = geometry.axis_angle_to_rotation_matrix(torch.tensor([[0.1, 0.2, 0.3]]))
show("rotation", rotation, geometry.rotation_matrix_to_quaternion(rotation))
homography = torch.tensor([[[1.1, 0.1, 0.2], [0.0, 0.9, 0.1], [0.01, 0.0, 1.0]]])
here = torch.rand(1, 12, 2)
there = geometry.transform_points(homography, here)
print("homography", geometry.find_homography_dlt(here, there).flatten().tolist())
show(
    "warped",
    geometry.warp_perspective(images, homography.expand(2, 3, 3), (24, 24)),
    geometry.rotate(images, torch.tensor([10.0, 20.0])),
)

smooth = filters.gaussian_blur2d(torch.rand(1, 1, 48, 48), (5, 5), (1.5, 1.5))
show(
    "features",
    feature.harris_response(smooth),
    feature.hessian_response(smooth),
    feature.SIFTDescriptor(32)(torch.rand(4, 1, 32, 32)),
)
show(
    "losses",
    losses.ssim_loss(images, images.flip(3), 5),
    losses.total_variation(images),
    losses.dice_loss(torch.randn(2, 3, 8, 8), torch.randint(3, (2, 8, 8))),
)

angle = torch.nn.Parameter(torch.tensor([0.0]))
optimizer = torch.optim.Adam([angle], lr=1.0)
target = geometry.rotate(smooth, torch.tensor([8.0]))
for _ in range(5):
    optimizer.zero_grad()
    loss = torch.nn.functional.mse_loss(geometry.rotate(smooth, angle), target)
    loss.backward()
    optimizer.step()
    print("registered", loss.item(), angle.item())
